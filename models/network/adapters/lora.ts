/**
 * Low-rank adapters (Hu et al. 2021) as in PEFT: y = W·x + s·B·(A·x) with A [r, in], B [out, r] and
 * s = alpha/r (rank-stabilised: alpha/√r). B may have a bias (y += s·bias), and with DoRA
 * (../dora.ts) every output has a magnitude. This file decides which modules get an adapter, its
 * rank and scale, the names of its tensors and their initial values. Dropout of x is in
 * ../dropout.ts; modules and biases that are trained in full are in modules_to_save.ts.
 */
import { messageOf, UsageError } from "../../../core/errors.ts";
import { LinearPattern } from "../../linear_pattern.ts";
import { RandomStream } from "../../../core/philox.ts";
import { WEIGHT_INITS, type WeightInit } from "./weight_factors.ts";
import { HEAD_MODULE } from "../../architectures/architecture.ts";

export interface LoraOptions {
  r: number;
  alpha: number;
  /** Names or ends of paths, a regular expression, or "all-linear": all but the head. */
  targetModules: readonly string[] | string;
  /**
   * Parameters of the layers that are no linear module, by the end of their path: those of experts
   * ("mlp.experts.gate_up_proj") and routers ("mlp.gate.weight"); default none.
   */
  targetParameters?: readonly string[];
  useRslora?: boolean;
  /** DoRA: a trained magnitude for each output; default false. */
  useDora?: boolean;
  /** Whether B has a bias; default false. */
  loraBias?: boolean;
  /** The model's biases that are trained: none (the default), all, or those of adapted modules. */
  bias?: "none" | "all" | "lora_only";
  /** Probability in [0, 1) of dropping an element of A's input in training; default 0. */
  dropout?: number;
  /** Rank or alpha of modules by the end of their path, or by a regular expression for it. */
  rankPattern?: Readonly<Record<string, number>>;
  alphaPattern?: Readonly<Record<string, number>>;
  /** Tokens whose embedding is trained, and with it their rows of a tied head; default none. */
  trainableTokenIndices?: readonly number[];
  /** Only these layers get adapters; null or absent = all. */
  layersToTransform?: readonly number[] | null;
  /** Modules without an adapter, as `targetModules`; default none. */
  excludeModules?: readonly string[] | string;
  /** Modules, by the end of their path, that are trained in full; default none. */
  modulesToSave?: readonly string[];
  /**
   * Initial values. "true" (the default): A uniform and B zero. "gaussian": A normal(0, 1/r) and B
   * zero. "false": both uniform, so the adapter changes the model from the start. Those of
   * weight_factors.ts are parts of the weight, which are taken out of it.
   */
  init?: "true" | "gaussian" | "false" | WeightInit;
  /** Seed of the initial values; default 0. */
  seed?: number;
  /**
   * A and B that `init` took out of the weight, by the names of {@link loraNames}; without it they
   * are computed.
   */
  taken?: (name: string) => Promise<Float32Array>;
}

const EMBEDDINGS = ["embed_tokens", "wte"];

/** Rank and scale of one module's adapter, and what it has besides A and B. */
export interface LoraShape {
  r: number;
  scale: number;
  bias: boolean;
  magnitude: boolean;
  /** What A and B began as, if s·B·A of that is taken out of the weight; null = nothing is. */
  from: WeightInit | null;
}

/**
 * Names of the tensors of a module's adapter: those of PEFT's files, and what is computed of the
 * weight and them, for DoRA (../dora.ts) and the initial A and B that are taken out of the weight
 * (weight_factors.ts).
 */
export function loraNames(modulePath: string) {
  const base = `base_model.model.${modulePath}`;
  return {
    a: `${base}.lora_A.weight`,
    b: `${base}.lora_B.weight`,
    bias: `${base}.lora_B.bias`,
    magnitude: `${base}.lora_magnitude_vector`,
    squares: `${base}.squares`,
    rho: `${base}.rho`,
    gain: `${base}.gain`,
    initialA: `${base}.initial_A`,
    initialB: `${base}.initial_B`,
  };
}

/** Whether a tensor has what PiSSA or OLoRA took out of a weight. */
export const isTaken = (name: string): boolean => /\.initial_[AB]$/.test(name);

/** The initialisation, if it takes a part out of the weight. */
export function weightInit(init: LoraOptions["init"]): WeightInit | null {
  return WEIGHT_INITS.find((known) => known === init) ?? null;
}

export interface AdapterTensor {
  name: string;
  shape: readonly number[];
  decay: boolean;
  /** Whether it is computed of the weight and the other tensors; no file has it. */
  computed?: boolean;
}

/** The tensors of one module's adapter, which may have a pair of matrices for each expert. */
export function loraTensors(
  { r, bias, magnitude, from, peftPath }: LoraShape & { peftPath: string },
  [inDim, outDim]: readonly [number, number],
  pairs = 1,
): AdapterTensor[] {
  const names = loraNames(peftPath), { squares, rho, gain } = names;
  const computed = { decay: false, computed: true }, ofOutputs = { shape: [outDim], ...computed };
  const ofDora = [{ name: names.magnitude, shape: [outDim], decay: true }];
  return [
    { name: names.a, shape: [r * pairs, inDim], decay: true },
    { name: names.b, shape: [outDim, r * pairs], decay: true },
    ...(bias ? [{ name: names.bias, shape: [outDim], decay: false }] : []),
    ...(magnitude
      ? [...ofDora, ...[squares, rho, gain].map((name) => ({ name, ...ofOutputs }))]
      : []),
    ...(from === null ? [] : [
      { name: names.initialA, shape: [r, inDim], ...computed },
      { name: names.initialB, shape: [outDim, r], ...computed },
    ]),
  ];
}

/** @throws UsageError for parameters that there are not, or beside what does not go with them */
function checkParameters(options: LoraOptions, parameters: readonly string[]): void {
  const { targetParameters = [], dropout = 0, useDora, loraBias, init } = options;
  for (const target of targetParameters) {
    const path = target.replace(/\.weight$/, "");
    if (parameters.some((name) => isSuffix(name, path))) continue;
    throw new UsageError(`target_parameters: "${target}" is no parameter of experts or a router`, {
      advice: parameters.length === 0
        ? "this model has no experts: use target_modules"
        : `lora.target_parameters=[${parameters.join(",")}] or some of these`,
    });
  }
  if (targetParameters.length === 0) return;
  const others = { lora_dropout: dropout > 0, use_dora: useDora, lora_bias: loraBias };
  const all = { ...others, init_lora_weights: weightInit(init) !== null };
  const [key] = Object.entries(all).find(([, isSet]) => isSet) ?? [];
  if (key !== undefined) throw new UsageError(`target_parameters go with no ${key}, as in PEFT`);
}

/** @param parameters that `targetParameters` may name. @throws UsageError for wrong options */
export function checkLoraOptions(
  options: LoraOptions,
  modules: readonly string[],
  parameters: readonly string[] = [],
): void {
  const { r, alpha, dropout = 0, init = "true", useDora = false, loraBias = false } = options;
  for (const rank of [r, ...Object.values(options.rankPattern ?? {})]) {
    if (Number.isInteger(rank) && rank >= 1) continue;
    throw new UsageError(`LoRA rank r must be an integer of at least 1, got ${rank}`);
  }
  if (!(Number.isFinite(alpha) && alpha > 0)) {
    throw new UsageError(`lora_alpha must be a positive number, got ${alpha}`);
  }
  if (!(dropout >= 0 && dropout < 1)) {
    throw new UsageError(`lora_dropout must be at least 0 and below 1, got ${dropout}`);
  }
  const advice = "leave one out", { targetModules, excludeModules } = options;
  if (useDora && loraBias) {
    throw new UsageError("lora_bias goes with no DoRA (use_dora)", { advice });
  }
  checkParameters(options, parameters);
  if (loraBias && init !== "true" && init !== "false") {
    throw new UsageError(`lora_bias goes with init_lora_weights true or false, not ${init}`);
  }
  if (useDora && weightInit(init) !== null) {
    throw new UsageError(`use_dora goes with no init_lora_weights ${init}`, { advice });
  }
  if (typeof excludeModules === "string") fullMatch(excludeModules, "exclude_modules");
  if (typeof targetModules === "string") {
    if (targetModules !== "all-linear") fullMatch(targetModules, "target_modules");
    return;
  }
  if (targetModules.length === 0 && (options.targetParameters ?? []).length === 0) {
    throw new UsageError("target_modules of LoRA is empty");
  }
  // GPT-2 has two modules with the name "c_proj": it means both.
  const known = new Set(modules.map((module) => module.split(".").at(-1)!));
  for (const target of targetModules) {
    const last = target.split(".").at(-1)!;
    if (known.has(last)) continue;
    if (target === HEAD_MODULE || EMBEDDINGS.includes(last)) continue;
    throw new UsageError(`target_modules: "${target}" is no linear module of this model`, {
      advice: last === HEAD_MODULE
        ? `the path of the head is ${HEAD_MODULE}`
        : `lora.target_modules=[${[...known].join(",")}] or some of these, =all-linear for all, ` +
          `or =null for those that its architecture usually has; ${HEAD_MODULE} is the head`,
    });
  }
}

/** The adapter of the module at `path`, or null. @param layer null = head or embedding */
export function loraFor(
  options: LoraOptions,
  path: string,
  layer: number | null,
): LoraShape | null {
  const { targetModules, layersToTransform, excludeModules = [] } = options;
  // As in PEFT, `layersToTransform` does not apply to a module that is named by its whole path.
  const isNamed = typeof targetModules !== "string" && targetModules.includes(path);
  const isLayer = layer !== null && layersToTransform?.includes(layer);
  if (layersToTransform && !isNamed && !isLayer) return null;
  if (targetModules === "all-linear" && layer === null) return null;
  if (matches(excludeModules, path, "exclude_modules")) return null;
  if (targetModules !== "all-linear" && !matches(targetModules, path, "target_modules")) {
    return null;
  }
  const { loraBias: bias = false, useDora: magnitude = false } = options;
  const from = weightInit(options.init);
  if (layer === null && (bias || magnitude || from !== null)) {
    const key = magnitude ? "use_dora" : bias ? "lora_bias" : `init_lora_weights ${from}`;
    throw new UsageError(
      `${key}: not on the ${path === HEAD_MODULE ? "head" : "embedding"} (${path})`,
      {
        advice: `leave ${path} out of target_modules, or train it in full: modules_to_save`,
      },
    );
  }
  return { ...rankAndScale(options, path), bias, magnitude, from };
}

function rankAndScale(options: LoraOptions, path: string): Pick<LoraShape, "r" | "scale"> {
  const r = fromPattern(options.rankPattern, "rank_pattern", path) ?? options.r;
  const alpha = fromPattern(options.alphaPattern, "alpha_pattern", path) ?? options.alpha;
  return { r, scale: alpha / (options.useRslora ? Math.sqrt(r) : r) };
}

const isSuffix = (path: string, name: string) => path === name || path.endsWith(`.${name}`);

/** The adapter of a parameter that is no linear module, or null when it has none. */
export function loraForParameter(
  options: LoraOptions,
  path: string,
  layer: number,
): LoraShape | null {
  const { targetParameters = [], layersToTransform } = options;
  if (layersToTransform && !layersToTransform.includes(layer)) return null;
  if (!targetParameters.some((name) => isSuffix(path, name))) return null;
  const shape = rankAndScale(options, path.replace(/\.weight$/, ""));
  return { ...shape, bias: false, magnitude: false, from: null };
}

/** Whether a path ends with one of the names, or is a match of the regular expression. */
function matches(modules: readonly string[] | string, path: string, key: string): boolean {
  return typeof modules === "string"
    ? fullMatch(modules, key).test(path)
    : modules.some((name) => isSuffix(path, name));
}

/**
 * Initial A [r, in]: uniform in ±1/√in (Kaiming with a = √5), or normal(0, 1/r). B [out, r] and its
 * bias [out]: zeros, or uniform in ±1/√r. The random streams are keyed by seed and name.
 */
export function initialLora(
  { seed = 0, init = "true" }: Pick<LoraOptions, "seed" | "init">,
  names: Pick<ReturnType<typeof loraNames>, "a" | "b" | "bias">,
  r: number,
  [inDim, outDim]: readonly [number, number],
): Record<"a" | "b" | "bias", Float64Array> {
  const random = (name: string, length: number, next: (stream: RandomStream) => number) => {
    const stream = RandomStream.forPurpose(seed, "init", name);
    return Float64Array.from({ length }, () => next(stream));
  };
  const uniform = (name: string, length: number, width: number) => {
    const bound = 1 / Math.sqrt(width);
    return random(name, length, (stream) => stream.uniform(-bound, bound));
  };
  const ofB = (name: string, length: number) =>
    init === "false" ? uniform(name, length, r) : new Float64Array(length);
  return {
    a: init === "gaussian"
      ? random(names.a, r * inDim, (stream) => stream.normal() / r)
      : uniform(names.a, r * inDim, inDim),
    b: ofB(names.b, outDim * r),
    bias: ofB(names.bias, outDim),
  };
}

function fromPattern(
  pattern: Readonly<Record<string, number>> | undefined,
  key: string,
  path: string,
): number | null {
  for (const [name, value] of Object.entries(pattern ?? {})) {
    if (fullMatch(`(.*\\.)?(${name})`, key).test(path)) return value;
  }
  return null;
}

function fullMatch(pattern: string, key: string): LinearPattern {
  try {
    return new LinearPattern(`^(?:${pattern})$`);
  } catch (cause) {
    throw new UsageError(
      `${key}: "${pattern.slice(0, 200)}" is no valid regular expression: ${messageOf(cause)}`,
      { cause },
    );
  }
}
