/**
 * The configuration of a decoder of the Llama family or GPT-2, in the form that the code uses, and
 * the checks that it is possible. hf_config.ts maps it to and from a `config.json`.
 */
import { UsageError } from "../../core/errors.ts";
import type { DeltaSizes } from "../../kernels/ops/delta_rule/spec.ts";
import {
  type ArchitectureName,
  convolves,
  type LayerType,
  type Module,
  type Scalar,
  type SoftCap,
} from "./architecture.ts";
import { type RopeConfig, ropeFrequencies } from "./rope_frequencies.ts";
import { type RopeScaling, ropeScalingProblems } from "./rope_scaling.ts";

/** The sizes and settings of a model, as its config.json has them. */
export interface ModelConfig {
  /** The model's architecture; absent = "llama". */
  readonly architecture?: ArchitectureName;
  /**
   * Linear modules with a bias; absent = those that always have one in the architecture.
   * @internal
   */
  readonly biases?: readonly Module[];
  /** Positions that a position attends to, itself included; absent or null = all before it. */
  readonly slidingWindow?: number | null;
  /**
   * The attention of each layer, where they are not alike: "full" ones have no window.
   * @internal
   */
  readonly layerTypes?: readonly LayerType[];
  /**
   * Numbers of the layers that do not rotate queries and keys; absent = none.
   * @internal
   */
  readonly unrotated?: readonly number[];
  /**
   * The rotation of sliding layers, where it is another one.
   * @internal
   */
  readonly slidingRope?: Pick<ModelConfig, "ropeTheta" | "ropeScaling">;
  /**
   * Elements of each head that are rotated, even; absent = headDim.
   * @internal
   */
  readonly rotaryDim?: number;
  /**
   * Queries are multiplied by 1 + beta·log(1 + ⌊position/period⌋).
   * @internal
   */
  readonly growingQueries?: { readonly beta: number; readonly period: number };
  /**
   * Those that are not 1, or for attention 1/√headDim.
   * @internal
   */
  readonly scalars?: Readonly<Partial<Record<Scalar, number>>>;
  /**
   * Soft caps of the scores of attention and of the logits; absent = none.
   * @internal
   */
  readonly softCaps?: Readonly<Partial<Record<SoftCap, number>>>;
  /**
   * Positions that a convolution reads, its own included.
   * @internal
   */
  readonly convTaps?: number;
  /**
   * The MLP of each layer is a mixture of `count` experts, of which each position takes `chosen`.
   * Their gates are divided by their sum with `normalize`.
   * @internal
   */
  readonly experts?: {
    readonly count: number;
    readonly chosen: number;
    readonly normalize: boolean;
    /** The factor of the loss that balances experts in training; absent = there is none. */
    readonly balance?: number;
  };
  /**
   * The limit of what SwiGLU takes (kernels/ops/swiglu/spec.ts); absent = it has none.
   * @internal
   */
  readonly swigluLimit?: number;
  /**
   * The heads of delta rules, which layers of the type "linear" have.
   * @internal
   */
  readonly delta?: DeltaSizes;
  /**
   * Width of a head in full layers; absent = `headDim`.
   * @internal
   */
  readonly fullHeadDim?: number;
  /**
   * How many of the last layers use the keys and values of the last one before them of their type.
   * @internal
   */
  readonly sharedKv?: { readonly layers: number; readonly doubleMlp: boolean };
  /**
   * Width of the inputs that each layer has of its own: a part of its tokens' rows in a table.
   * @internal
   */
  readonly perLayer?: number;
  /**
   * Whether it is the text part of a model that also sees (wrapper.ts): names of adapters have that
   * model's prefix.
   * @internal
   */
  readonly wrapped?: boolean;
  /** Rows of the embedding: the number of tokens. */
  readonly vocabSize: number;
  /** Width of the residual stream. */
  readonly hiddenSize: number;
  /** Width of the MLP's inner layer. */
  readonly intermediateSize: number;
  /** Number of decoder layers. */
  readonly numLayers: number;
  /** Number of query heads. */
  readonly numHeads: number;
  /** Number of key and value heads; it divides numHeads. */
  readonly numKvHeads: number;
  /** Width of one head, even. numHeads · headDim may differ from hiddenSize. */
  readonly headDim: number;
  /** Tokens of the longest text that the model takes. */
  readonly maxPositions: number;
  /** `max_position_embeddings`, where RoPE scaling reaches further; absent = maxPositions. */
  readonly statedPositions?: number;
  /** Base of the rotary frequencies; without effect for learned positions. */
  readonly ropeTheta: number;
  /** @internal */
  readonly ropeScaling: RopeScaling | null;
  /** Epsilon of RMSNorm, or of LayerNorm where the architecture has that. */
  readonly rmsNormEps: number;
  /** Whether the head has the weights of the embedding. */
  readonly tieWordEmbeddings: boolean;
}

const COUNTS = [
  "vocabSize",
  "hiddenSize",
  "intermediateSize",
  "numLayers",
  "numHeads",
  "numKvHeads",
  "headDim",
  "maxPositions",
] as const;

/** Limits: no table on a device is longer, and no model has as many layers. */
const MAX_SIZE = 2 ** 31 - 1;
export const MAX_LAYERS = 10_000;
/** Width of a head with RoPE scaling. */
const MAX_SCALED_HEAD = 2 ** 16;

/** All that is impossible about a configuration, as clauses. */
function modelConfigProblems(config: ModelConfig): string[] {
  const problems: string[] = [];
  const ensure = (isRight: boolean, problem: string) => {
    if (!isRight) problems.push(problem);
  };
  for (const key of COUNTS) {
    const value = config[key], max = key === "numLayers" ? MAX_LAYERS : MAX_SIZE;
    const isCount = Number.isInteger(value) && value >= 1;
    ensure(isCount, `${key} is ${value}, expected a whole number of at least 1`);
    ensure(!isCount || value <= max, `${key} is ${value}, expected at most ${max}`);
  }
  if (problems.length > 0) return problems;
  const {
    numHeads,
    numKvHeads,
    numLayers,
    headDim,
    ropeTheta,
    rmsNormEps,
    delta,
    experts,
    convTaps,
  } = config;
  const { slidingWindow: window = null, layerTypes = [], rotaryDim = headDim } = config;
  const isPositive = (value: number) => value > 0 && Number.isFinite(value);
  const width = numHeads * headDim;
  ensure(width <= MAX_SIZE, `${numHeads} heads of ${headDim} are wider than ${MAX_SIZE}`);
  ensure(
    numHeads % numKvHeads === 0,
    `${numHeads} attention heads cannot share ${numKvHeads} key/value heads evenly`,
  );
  ensure(headDim % 2 === 0, `headDim is ${headDim}, only even widths are supported`);
  ensure(isPositive(ropeTheta), `ropeTheta is ${ropeTheta}, expected a positive number`);
  ensure(
    rmsNormEps > 0 && rmsNormEps < 1,
    `rmsNormEps is ${rmsNormEps}, expected a small positive number`,
  );
  ensure(
    window === null || Number.isInteger(window) && window >= 1,
    `slidingWindow is ${window}, expected a whole number of at least 1`,
  );
  for (const [name, value] of Object.entries(config.scalars ?? {})) {
    ensure(isPositive(value), `the multiplier of ${name} is ${value}, expected a positive number`);
  }
  for (const [name, value] of Object.entries(config.softCaps ?? {})) {
    ensure(isPositive(value), `the soft cap of ${name} is ${value}, expected a positive number`);
  }
  ensure(
    delta === undefined || delta.valueHeads % delta.keyHeads === 0,
    `${delta?.valueHeads} value heads cannot share ${delta?.keyHeads} key heads evenly`,
  );
  ensure(
    !layerTypes.some(convolves) || (convTaps ?? 0) >= 2,
    `a convolution reads ${convTaps} positions, expected at least 2`,
  );
  ensure(
    experts === undefined || experts.chosen <= experts.count,
    `a position takes ${experts?.chosen} of ${experts?.count} experts`,
  );
  ensure(
    rotaryDim >= 2 && rotaryDim <= headDim && rotaryDim % 2 === 0,
    `${rotaryDim} of ${headDim} elements of a head are rotated: only even`,
  );
  const { fullHeadDim = 0 } = config;
  ensure(
    fullHeadDim % 2 === 0 && numHeads * fullHeadDim <= MAX_SIZE,
    `full layers have ${numHeads} heads of ${fullHeadDim}: only even, at most ${MAX_SIZE} together`,
  );
  const unshared = Array.from({ length: config.sharedKv?.layers ?? 0 }, (_, i) => numLayers - 1 - i)
    .find((layer) => kvSource(config, layer) < 0);
  ensure(
    unshared === undefined,
    `layer ${unshared} shares keys and values, but no layer of its type has them`,
  );
  ensure(
    config.architecture !== "gpt2" || width === config.hiddenSize && numKvHeads === numHeads,
    "GPT-2's heads have one key and value each and together the model's width",
  );
  for (const rope of ropesOf(config)) {
    if (rope.ropeScaling === null) continue;
    problems.push(...ropeScalingProblems(rope.ropeScaling, rope));
    ensure(
      problems.length > 0 || hasFiniteFrequencies(rope, config.maxPositions),
      "with this rope scaling, some RoPE frequencies are no finite numbers",
    );
  }
  return problems;
}

/** Whether RoPE can be computed for the shortest and for the longest text. */
function hasFiniteFrequencies(rope: RopeConfig, maxPositions: number): boolean {
  if (rope.headDim > MAX_SCALED_HEAD) return false;
  return [1, maxPositions].every((length) => ropeFrequencies(rope, length).every(Number.isFinite));
}

/** The rotations of a model's layers: first that of full ones, then another of sliding ones. */
export function ropesOf(config: ModelConfig): RopeConfig[] {
  const { headDim, rotaryDim = headDim, fullHeadDim = rotaryDim, slidingRope } = config;
  const { ropeTheta, ropeScaling } = config;
  return [
    { headDim: fullHeadDim, ropeTheta, ropeScaling },
    ...(slidingRope === undefined ? [] : [{ headDim: rotaryDim, ...slidingRope }]),
  ];
}

/** The sizes of a layer's heads and MLP, or the largest that a layer has. */
export interface LayerSizes {
  headDim: number;
  /** Widths of all query heads and of all key heads. */
  q: number;
  kv: number;
  /** Width of the MLP's inner layer. */
  f: number;
}

/** @param layer null = the largest of each */
export function layerSizes(config: ModelConfig, layer: number | null): LayerSizes {
  const { numKvHeads, numHeads, fullHeadDim = config.headDim, sharedKv, intermediateSize } = config;
  const headDim = layer === null
    ? Math.max(config.headDim, fullHeadDim)
    : layerType(config, layer) === "full"
    ? fullHeadDim
    : config.headDim;
  const shares = layer === null || layer >= firstShared(config);
  return {
    headDim,
    q: numHeads * headDim,
    kv: numKvHeads * headDim,
    f: (sharedKv?.doubleMlp && shares ? 2 : 1) * intermediateSize,
  };
}

function firstShared({ numLayers, sharedKv }: ModelConfig): number {
  return numLayers - (sharedKv?.layers ?? 0);
}

/** The layer whose keys and values a layer uses: its own, or those of an earlier layer. */
export function kvSource(config: ModelConfig, layer: number): number {
  const type = layerType(config, layer);
  let source = layer;
  if (layer >= firstShared(config)) source = firstShared(config) - 1;
  while (source >= 0 && layerType(config, source) !== type) source--;
  return source;
}

/** The kind of attention in a layer. */
export function layerType({ layerTypes, slidingWindow }: ModelConfig, layer: number): LayerType {
  return layerTypes?.[layer] ?? ((slidingWindow ?? null) === null ? "full" : "sliding");
}

/** The number in {@link ropesOf} of a layer's rotation; null = none. */
export function layerRope(config: ModelConfig, layer: number): number | null {
  if (config.unrotated?.includes(layer)) return null;
  return config.slidingRope !== undefined && layerType(config, layer) === "sliding" ? 1 : 0;
}

/** @param where file or section, for the message. @throws UsageError that lists all problems */
export function checkModelConfig(config: ModelConfig, where: string): ModelConfig {
  const problems = modelConfigProblems(config);
  if (problems.length > 0) {
    throw new UsageError(`${where}: impossible model: ${problems.join("; ")}`);
  }
  return config;
}
