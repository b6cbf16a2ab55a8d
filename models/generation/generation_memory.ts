/**
 * How many bytes a generation needs, computed from the sizes alone: the same buffers that
 * decoder.ts and its helpers take from their workspace.
 */
import { seenWords } from "../../kernels/ops/adjust_logits/spec.ts";
import { packedLength } from "../../kernels/ops/matmul/spec.ts";
import { architectureOf } from "../architectures/mod.ts";
import { canFuseLayers } from "../network/fused_layers.ts";
import {
  capacity,
  fusedIndex,
  layerBuffers,
  passBuffers,
  planPassBytes,
} from "../network/memory_plan.ts";
import type { ModelSizes } from "../network/weights/model_sizes.ts";
import { bufferCapacity } from "../network/workspace.ts";
import { packsLayers } from "./packed_weights.ts";

/** What a generation holds at once. */
export interface GenerationSizes {
  /** Prompt tokens, all prompts together. */
  promptRows: number;
  /** Of these, most that are run at once; absent = all. */
  passRows?: number;
  branches: number;
  maxNewTokens: number;
  /** With a repetition penalty, a least length, or rules that differ from request to request. */
  adjusted?: boolean;
}

/**
 * Most bytes that generation takes where nothing else is said; what does not fit waits. A processor has enough to
 * compute then; a card that has more gives more (`generationRoom`).
 */
export const DEFAULT_GENERATION_BYTES = 2 ** 30;

/**
 * Bytes of the workspace that generations of at most these sizes, within `room` bytes, share with passes without
 * gradient over `rows` packed rows with `pairs` branch tokens, buffers of the same name once.
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
    ...[heads * d, heads * d, heads * d, heads],
  ]);
  return Math.min(planGenerationBytes(sizes, generation), room) +
    planPassBytes(sizes, pass.rows, pass.pairs, false) - shared;
}

/** Of a pass of prompts or of a step. */
function rowsAtOnce({ promptRows, passRows = promptRows, branches }: GenerationSizes): number {
  return Math.max(Math.min(promptRows, passRows), branches);
}

/** Bytes of a generation: prompt pass, caches, and the buffers of a decoding step. */
export function planGenerationBytes(sizes: ModelSizes, generation: GenerationSizes): number {
  const { floats, words } = generationBuffers(sizes, generation);
  return sizes.floatBytes * capacity(floats) + 4 * capacity(words);
}

/** Bytes of the largest of its buffers. */
export function planLargestBuffer(sizes: ModelSizes, generation: GenerationSizes): number {
  const { floats } = generationBuffers(sizes, generation);
  return sizes.floatBytes * floats.reduce((most, n) => Math.max(most, bufferCapacity(n)), 0);
}

/** Elements of the buffers of floats and of u32. */
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
    ...[branches * d, branches * d, branches * d, branches], // final norm
    branches * config.vocabSize, // logits
    history, // log-probabilities
    ...cacheBuffers(sizes, generation),
    promptRows * config.numKvHeads * config.headDim, // copies of beginnings
    ...layerBuffers(sizes, branches, "none"), // prompts' last rows
    ...ropeTables(sizes, promptRows + generation.maxNewTokens),
  ];
  const words = [5 * promptRows, promptRows, promptRows, promptRows, ...fusedIndex(sizes, rows)];
  words.push(...Array<number>(5).fill(promptRows)); // where beginnings are, and keys
  words.push(branches, branches, 5 * branches); // prompts' last rows
  words.push(history, 11 * (branches + 64));
  if (adjusted) {
    const logits = branches * config.vocabSize;
    floats.push(logits, logits, logits); // of a lane, adjusted on the host, adjusted
    words.push(
      6 * (branches + 64),
      branches * seenWords(config.vocabSize),
      branches * seenWords(config.vocabSize),
    );
  }
  return { floats, words };
}

/** Elements of the tables of angles; they grow by doubling. */
function ropeTables({ config }: ModelSizes, positions: number): number[] {
  if (architectureOf(config).positions === "learned") return [];
  const rows = Math.min(2 ** Math.ceil(Math.log2(Math.max(positions, 256))), config.maxPositions);
  return [rows * config.headDim / 2, rows * config.headDim / 2];
}

/** Elements of the keys and of the values of each layer, of the prompts and of the branches. */
function cacheBuffers(sizes: ModelSizes, generation: GenerationSizes): number[] {
  const { config, floatBytes } = sizes;
  const { promptRows, branches, maxNewTokens } = generation, layers = 2 * config.numLayers;
  // Keys once more for layers that are one operation; on webgpu, which sizes do not tell, there are none.
  const isFused = canFuseLayers(config, floatBytes) && packsLayers(sizes);
  const packed = isFused ? config.numLayers : 0;
  const kv = config.numKvHeads * config.headDim;
  return [
    ...Array<number>(layers).fill(promptRows * kv),
    ...Array<number>(packed).fill(packedLength(promptRows, kv)),
    ...Array<number>(layers).fill(branches * maxNewTokens * kv),
  ];
}

/** Bytes of the keys and values of prompts and branches. */
export function planCacheBytes(sizes: ModelSizes, generation: GenerationSizes): number {
  return sizes.floatBytes * capacity(cacheBuffers(sizes, generation));
}
