/**
 * How many bytes a generation needs, computed from the sizes alone. It lists the same buffers that
 * decoder.ts and its helpers take from their workspace.
 */
import { BRANCH } from "../../../kernels/ops/attention_decode/spec.ts";
import { COUNTER_WORDS } from "../../../kernels/ops/sample/spec.ts";
import { seenWords } from "../../../kernels/ops/adjust_logits/spec.ts";
import { packedLength } from "../../../kernels/ops/matmul/spec.ts";
import { architectureOf } from "../../architectures/mod.ts";
import { canFuseLayers } from "../../network/fused_layers.ts";
import {
  angleBuffers,
  angleIndex,
  capacity,
  fusedIndex,
  layerBuffers,
  passBuffers,
  planPassBytes,
} from "../../network/model_bytes.ts";
import type { ModelSizes } from "../../network/weights/model_sizes.ts";
import { headAdapter } from "../../network/weights/model_weights.ts";
import { bufferCapacity } from "../../network/workspace.ts";
import { packsLayers } from "../packed_weights.ts";

/** The maximum of what a generation holds at the same time. */
export interface GenerationSizes {
  /** Rows of the prompt cache. */
  promptRows: number;
  /** Maximum number of prompt rows in one prefill; absent = all. */
  passRows?: number;
  branches: number;
  maxNewTokens: number;
  /** Rows of the branch cache; absent = enough for all branches at their maximum length. */
  branchRows?: number;
  /**
   * Whether logits are changed before sampling (repetition penalty, minimum length), or requests
   * have different sampling parameters.
   */
  adjusted?: boolean;
}

/**
 * Default limit on the bytes of a generation; requests that do not fit wait. A CPU is busy with
 * that much. A GPU with more free memory gets a higher limit (`generationLimit`).
 */
export const DEFAULT_GENERATION_BYTES = 2 ** 30;

/**
 * Bytes of the workspace that generations and passes without gradient share, where buffers of the
 * same name are counted once. Generations have at most these sizes and `room` bytes; the passes
 * have `rows` packed rows and `pairs` branch tokens.
 */
export function planInferenceBytes(
  sizes: ModelSizes,
  generation: GenerationSizes,
  pass: { rows: number; pairs: number },
  room: number,
): number {
  const d = sizes.config.hiddenSize;
  const rows = Math.min(rowsAtOnce(generation), pass.rows),
    heads = Math.min(generation.branches, pass.pairs);
  const shared = sizes.floatBytes * capacity([
    ...layerBuffers(sizes, rows, "none"),
    ...passBuffers(sizes, rows),
    ...angleBuffers(sizes, rows),
    heads * d,
    heads * d,
    heads * d,
    heads,
  ]);
  return Math.min(planGenerationBytes(sizes, generation), room) +
    planPassBytes(sizes, pass.rows, pass.pairs, false) - shared;
}

/** Rows of the larger of a prefill and a decode step. */
function rowsAtOnce({ promptRows, passRows = promptRows, branches }: GenerationSizes): number {
  return Math.max(Math.min(promptRows, passRows), branches);
}

/** Bytes of a generation: the prefill, the KV cache, and the buffers of a decode step. */
export function planGenerationBytes(sizes: ModelSizes, generation: GenerationSizes): number {
  const { floats, words } = generationBuffers(sizes, generation);
  return sizes.floatBytes * capacity(floats) + 4 * capacity(words);
}

/** Bytes of the largest of these buffers. */
export function planLargestBuffer(sizes: ModelSizes, generation: GenerationSizes): number {
  const { floats } = generationBuffers(sizes, generation);
  return sizes.floatBytes * floats.reduce((max, n) => Math.max(max, bufferCapacity(n)), 0);
}

/** Elements of each buffer of floats and of u32. */
function generationBuffers(
  sizes: ModelSizes,
  generation: GenerationSizes,
): { floats: number[]; words: number[] } {
  const { config } = sizes, d = config.hiddenSize;
  const { promptRows, branches, adjusted = false } = generation, rows = rowsAtOnce(generation);
  const history = Math.max(16 * (branches + 64), 64 * branches); // decode_sampler.ts
  const floats = [
    ...layerBuffers(sizes, rows, "none"),
    ...passBuffers(sizes, rows),
    ...angleBuffers(sizes, rows),
    // The final norm.
    branches * d,
    branches * d,
    branches * d,
    branches,
    branches * config.vocabSize, // logits
    history, // log-probabilities
    ...cacheBuffers(sizes, generation),
    promptRows * config.numKvHeads * config.headDim, // copies of shared prefixes
    ...layerBuffers(sizes, branches, "none"), // last rows of the prompts
    ...ropeTables(sizes, promptRows + generation.maxNewTokens),
  ];
  const head = headAdapter(sizes.lora);
  if (head !== null) floats.push(branches * head.r); // the input of the head's adapter
  const words = [5 * promptRows, promptRows, promptRows, promptRows, ...fusedIndex(sizes, rows)];
  words.push(...Array<number>(5).fill(promptRows)); // copies of shared prefixes, and key ranges
  words.push(...angleIndex(sizes, rows));
  words.push(branches, branches, 5 * branches); // last rows of the prompts
  words.push(branches + 64, branches); // tokens of rows that have moved
  words.push(history, (5 + COUNTER_WORDS + BRANCH.columns) * (branches + 64));
  if (adjusted) {
    const logits = branches * config.vocabSize;
    floats.push(logits, logits, logits); // of a batch; adjusted on the host; adjusted
    words.push(
      (3 + COUNTER_WORDS) * (branches + 64),
      branches * seenWords(config.vocabSize),
      branches * seenWords(config.vocabSize),
      branches * seenWords(config.vocabSize), // allowed tokens
    );
  }
  return { floats, words };
}

/** Elements of the tables of cos and sin, which grow by doubling. */
function ropeTables({ config }: ModelSizes, positions: number): number[] {
  if (architectureOf(config).positions === "learned") return [];
  const rows = Math.min(2 ** Math.ceil(Math.log2(Math.max(positions, 256))), config.maxPositions);
  return [rows * config.headDim / 2, rows * config.headDim / 2];
}

/** Elements of the keys and the values of each layer, for prompts and for branches. */
function cacheBuffers(sizes: ModelSizes, generation: GenerationSizes): number[] {
  const { config, floatBytes, card } = sizes;
  const { promptRows, branches, maxNewTokens } = generation, layers = 2 * config.numLayers;
  const { branchRows = branches * maxNewTokens } = generation;
  // Fused layers read packed keys, too, but for those on a graphics card.
  const isFused = canFuseLayers(config, floatBytes) && packsLayers(sizes);
  const packed = isFused && card === null ? config.numLayers : 0;
  const kv = config.numKvHeads * config.headDim;
  return [
    ...Array<number>(layers).fill(promptRows * kv),
    ...Array<number>(packed).fill(packedLength(promptRows, kv)),
    ...Array<number>(layers).fill(branchRows * kv),
  ];
}

/** Bytes of the KV cache of prompts and branches. */
export function planCacheBytes(sizes: ModelSizes, generation: GenerationSizes): number {
  return sizes.floatBytes * capacity(cacheBuffers(sizes, generation));
}
