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
  /**
   * Module names or path suffixes, one regular expression for the whole path, or "all-linear": all
   * linear modules of the layers, without the head (lm_head).
   */
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
  /**
   * Rank or alpha of modules whose path ends with the key, or matches it as a regular expression.
   */
  rankPattern?: Readonly<Record<string, number>>;
  alphaPattern?: Readonly<Record<string, number>>;
  /** Tokens whose embedding is trained, and with it their rows of a tied head; default none. */
  trainableTokenIndices?: readonly number[];
  /** Only these layers get adapters; null or absent = all. */
  layersToTransform?: readonly number[] | null;
  /**
   * Modules without an adapter: names or path suffixes, or a regular expression for the whole path;
   * default none.
   */
  excludeModules?: readonly string[] | string;
  /**
   * Modules, by the end of their path, that are trained in full and stored with the adapter;
   * default none.
   */
  modulesToSave?: readonly string[];
  /**
   * Initial values. "true" (the default): A uniform and B zero. "gaussian": A normal(0, 1/r) and B
   * zero. "false": both uniform, so the adapter changes the model from the start. Those of
   * weight_factors.ts are parts of the weight, which are taken out of it.
   */
  init?: "true" | "gaussian" | "false" | WeightInit;
  /** Seed of the initial values; default 0. */
  seed?: number;
}

/** Names of tables of embeddings. */
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

/** PEFT's names of a module's adapter tensors. */
export function loraNames(modulePath: string) {
  const base = `base_model.model.${modulePath}`;
  return {
    a: `${base}.lora_A.weight`,
    b: `${base}.lora_B.weight`,
    bias: `${base}.lora_B.bias`,
    magnitude: `${base}.lora_magnitude_vector`,
  };
}

/**
 * Names of what is computed of a module's weight and adapter: for DoRA (../dora.ts), and the
 * initial A and B that are taken out of the weight (weight_factors.ts).
 */
export function computedNames(modulePath: string) {
  const base = `base_model.model.${modulePath}`;
  return {
    dora: { squares: `${base}.squares`, rho: `${base}.rho`, gain: `${base}.gain` },
    initial: { a: `${base}.initial_A`, b: `${base}.initial_B` },
  };
}

/** The initialisation, if it takes a part out of the weight. */
export function weightInit(init: LoraOptions["init"]): WeightInit | null {
  return WEIGHT_INITS.find((known) => known === init) ?? null;
}

/** A tensor of an adapter's file. */
export interface LoraTensor {
  name: string;
  shape: readonly number[];
  decay: boolean;
}

/** The tensors of one module's adapter. */
export function loraTensors(
  { r, bias, magnitude, peftPath }: LoraShape & { peftPath: string },
  [inDim, outDim]: readonly [number, number],
  experts = 1,
): LoraTensor[] {
  const names = loraNames(peftPath);
  return [
    { name: names.a, shape: [r * experts, inDim], decay: true },
    { name: names.b, shape: [outDim, r * experts], decay: true },
    ...(bias ? [{ name: names.bias, shape: [outDim], decay: false }] : []),
    ...(magnitude ? [{ name: names.magnitude, shape: [outDim], decay: true }] : []),
  ];
}

/** The tensors that are computed of one module's weight and adapter; no file has them. */
export function computedTensors(
  { r, magnitude, from, peftPath }: LoraShape & { peftPath: string },
  [inDim, outDim]: readonly [number, number],
): Pick<LoraTensor, "name" | "shape">[] {
  const { dora, initial } = computedNames(peftPath);
  return [
    ...(magnitude ? Object.values(dora).map((name) => ({ name, shape: [outDim] })) : []),
    ...(from === null
      ? []
      : [{ name: initial.a, shape: [r, inDim] }, { name: initial.b, shape: [outDim, r] }]),
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

/**
 * @param modules names of the linear modules of a layer
 * @param parameters names of what `targetParameters` may name
 * @throws UsageError when the options are not supported
 */
export function checkLoraOptions(
  options: LoraOptions,
  modules: readonly string[],
  parameters: readonly string[] = [],
): void {
  if (!(Number.isInteger(options.r) && options.r >= 1)) {
    throw new UsageError(`LoRA rank r must be an integer of at least 1, got ${options.r}`);
  }
  if (!(Number.isFinite(options.alpha) && options.alpha > 0)) {
    throw new UsageError(`lora_alpha must be a positive number, got ${options.alpha}`);
  }
  const { dropout = 0 } = options;
  if (!(dropout >= 0 && dropout < 1)) {
    throw new UsageError(`lora_dropout must be at least 0 and below 1, got ${dropout}`);
  }
  const { targetModules, excludeModules, useDora = false, loraBias = false } = options;
  if (useDora && loraBias) {
    throw new UsageError("lora_bias goes with no DoRA (use_dora)", { advice: "leave one out" });
  }
  const { init = "true" } = options;
  checkParameters(options, parameters);
  if (loraBias && init !== "true" && init !== "false") {
    throw new UsageError(`lora_bias goes with init_lora_weights true or false, not ${init}`);
  }
  if (useDora && weightInit(init) !== null) {
    throw new UsageError(`use_dora goes with no init_lora_weights ${init}`, {
      advice: "leave one out",
    });
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

/**
 * The adapter of the module at `path` ("model.layers.0.self_attn.q_proj"), or null when it has
 * none.
 * @param layer null = the head
 */
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

/**
 * Whether a path is one of the names, ends with one, or matches the regular expression as a whole.
 */
function matches(modules: readonly string[] | string, path: string, key: string): boolean {
  return typeof modules === "string"
    ? fullMatch(modules, key).test(path)
    : modules.some((name) => path === name || path.endsWith(`.${name}`));
}

/**
 * Initial A [r, in]: uniform in ±1/√in (Kaiming with a = √5), or normal(0, 1/r). The random stream
 * is keyed by seed and name.
 */
export function initialLoraA(
  { seed = 0, init = "true" }: Pick<LoraOptions, "seed" | "init">,
  name: string,
  r: number,
  inDim: number,
): Float64Array {
  if (init !== "gaussian") return uniform(seed, name, r * inDim, inDim);
  const stream = RandomStream.forPurpose(seed, "init", name);
  return Float64Array.from({ length: r * inDim }, () => stream.normal() / r);
}

/** Initial B [out, r]: zeros, or uniform in ±1/√r. */
export function initialLoraB(
  { seed = 0, init = "true" }: Pick<LoraOptions, "seed" | "init">,
  name: string,
  r: number,
  outDim: number,
): Float64Array {
  return init === "false" ? uniform(seed, name, outDim * r, r) : new Float64Array(outDim * r);
}

/** Initial bias of B [out]: as B, whose inputs are r. */
export function initialLoraBias(
  { seed = 0, init = "true" }: Pick<LoraOptions, "seed" | "init">,
  name: string,
  r: number,
  outDim: number,
): Float64Array {
  return init === "false" ? uniform(seed, name, outDim, r) : new Float64Array(outDim);
}

/** Uniform values in ±1/√width. */
function uniform(seed: number, name: string, count: number, width: number): Float64Array {
  const stream = RandomStream.forPurpose(seed, "init", name), bound = 1 / Math.sqrt(width);
  return Float64Array.from({ length: count }, () => stream.uniform(-bound, bound));
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
