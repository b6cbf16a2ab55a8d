/**
 * The configuration of a decoder of the Llama family or GPT-2, in the form that the code uses, and
 * the checks that it is possible. hf_config.ts maps it to and from a `config.json`.
 */
import { UsageError } from "../../core/errors.ts";
import type { ArchitectureName, Module } from "./architecture.ts";
import { ropeFrequencies } from "./rope_frequencies.ts";
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
  /**
   * Number of positions that a position attends to, including itself; absent or null = all before
   * it.
   */
  readonly slidingWindow?: number | null;
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
  /**
   * `max_position_embeddings` of the file, where RoPE scaling reaches further; absent =
   * maxPositions.
   */
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
const MAX_LAYERS = 10_000;
/** Width of a head with RoPE scaling. */
const MAX_SCALED_HEAD = 2 ** 16;

/**
 * Everything that is impossible about a configuration, as a list of clauses; empty when it is
 * possible.
 */
function modelConfigProblems(config: ModelConfig): string[] {
  const problems: string[] = [];
  for (const key of COUNTS) {
    const value = config[key];
    const max = key === "numLayers" ? MAX_LAYERS : MAX_SIZE;
    if (!Number.isInteger(value) || value < 1) {
      problems.push(`${key} is ${value}, expected a whole number of at least 1`);
    } else if (value > max) {
      problems.push(`${key} is ${value}, expected at most ${max}`);
    }
  }
  if (problems.length > 0) return problems;
  if (config.numHeads * config.headDim > MAX_SIZE) {
    problems.push(`${config.numHeads} heads of ${config.headDim} are wider than ${MAX_SIZE}`);
  }
  if (config.numHeads % config.numKvHeads !== 0) {
    problems.push(
      `${config.numHeads} attention heads cannot share ${config.numKvHeads} key/value heads evenly`,
    );
  }
  if (config.headDim % 2 !== 0) {
    problems.push(`headDim is ${config.headDim}, only even widths are supported`);
  }
  if (!(config.ropeTheta > 0 && Number.isFinite(config.ropeTheta))) {
    problems.push(`ropeTheta is ${config.ropeTheta}, expected a positive number`);
  }
  if (!(config.rmsNormEps > 0 && config.rmsNormEps < 1)) {
    problems.push(`rmsNormEps is ${config.rmsNormEps}, expected a small positive number`);
  }
  const window = config.slidingWindow ?? null;
  if (window !== null && !(Number.isInteger(window) && window >= 1)) {
    problems.push(`slidingWindow is ${window}, expected a whole number of at least 1`);
  }
  const fused = config.numHeads * config.headDim === config.hiddenSize &&
    config.numKvHeads === config.numHeads;
  if (config.architecture === "gpt2" && !fused) {
    problems.push("GPT-2's heads have one key and value each and together the model's width");
  }
  if (config.ropeScaling !== null) {
    problems.push(...ropeScalingProblems(config.ropeScaling, config));
    if (problems.length === 0 && !hasFiniteFrequencies(config)) {
      problems.push("with this rope scaling, some RoPE frequencies are no finite numbers");
    }
  }
  return problems;
}

/** Whether RoPE can be computed for the shortest and for the longest text. */
function hasFiniteFrequencies(config: ModelConfig): boolean {
  if (config.headDim > MAX_SCALED_HEAD) return false;
  return [1, config.maxPositions].every((length) =>
    ropeFrequencies(config, length).every(Number.isFinite)
  );
}

/**
 * @param where file or config section, for the message
 * @throws UsageError that lists everything that is impossible about the configuration
 */
export function checkModelConfig(config: ModelConfig, where: string): ModelConfig {
  const problems = modelConfigProblems(config);
  if (problems.length > 0) {
    throw new UsageError(`${where}: impossible model: ${problems.join("; ")}`);
  }
  return config;
}
