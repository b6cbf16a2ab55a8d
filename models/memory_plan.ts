/**
 * How many bytes a model and its passes need, computed from the sizes alone, before anything is created:
 * the same lists of buffers that forward_pass.ts, lm_head.ts and generate.ts take from their workspaces.
 * Left out: what a device needs for itself (operations' scratch, thread stacks).
 */
import { bytesText } from "../core/bytes.ts";
import { UsageError } from "../core/errors.ts";
import { seenWords } from "../kernels/ops/adjust_logits/spec.ts";
import { packedLength } from "../kernels/ops/matmul/spec.ts";
import type { Module } from "./architectures/architecture.ts";
import { architectureOf, modulesOf } from "./architectures/mod.ts";
import { canFuseLayers } from "./generation/decode_shape.ts";
import { activationWidths, backwardWidths, passWidths } from "./network/layer_activations.ts";
import type { Keep } from "./network/forward_pass.ts";
import {
  adapterSpecs,
  baseSpecs,
  LM_HEAD,
  type LoraPlacement,
} from "./network/weights/model_weights.ts";
import type { ModelSizes } from "./network/weights/model_sizes.ts";
import { packsLayers } from "./generation/packed_weights.ts";
import { arenaElements } from "./network/weights/parameters.ts";
import { elementCount } from "./formats/safetensors/safetensors.ts";
import { storedWords } from "./formats/stored_weight.ts";
import { bufferCapacity } from "./network/workspace.ts";

/** Bytes of all values, of the gradients, and of AdamW's two moments. */
export function planParameterBytes(
  sizes: ModelSizes,
): { values: number; gradients: number; optimizer: number; largestFrozen: [number, number] } {
  const { config, trainable: what } = sizes;
  const specs = [
    ...baseSpecs(config, what === "full", sizes.storage),
    ...adapterSpecs(config, sizes, what === "lora"),
  ];
  const bytes = sizes.floatBytes;
  let values = 0, trained = 0, largest = 0, second = 0;
  for (const { shape, trainable, storage = null } of specs) {
    const own = storage !== null
      ? 4 * storedWords(storage, shape[0]!, shape[1]!)
      : bytes * (trainable ? arenaElements(shape) : elementCount(shape));
    values += own;
    if (trainable) trained += arenaElements(shape);
    else if (own > largest) [largest, second] = [own, largest];
    else second = Math.max(second, own);
  }
  const gradients = trained * bytes, optimizer = 2 * gradients;
  return { values, gradients, optimizer, largestFrozen: [largest, second] };
}

/**
 * Bytes of a forward pass (and backward, with `train`) over `rows` packed rows with `pairs` branch tokens,
 * with dropout where the adapters have it. Merged weights (merge_lora.ts) apart: all passes share them.
 * Tables of u32 are counted at their largest.
 */
export function planPassBytes(
  sizes: ModelSizes,
  rows: number,
  pairs: number,
  train: boolean,
): number {
  const keep: Keep = !train ? "none" : sizes.recompute ? "inputs" : "all";
  const { config } = sizes;
  const floats = [
    ...layerBuffers(sizes, rows, keep),
    ...passBuffers(sizes, rows),
    ...headBuffers(sizes, pairs, train),
  ];
  const words = [rows, rows, rows, 5 * rows, pairs, pairs + 1, pairs]; // tokens … targets
  words.push(...fusedIndex(sizes, rows));
  if (sizes.dropout !== null) {
    floats.push(rows * sizes.dropout.width);
    words.push(3 * rows);
  }
  if (train) {
    floats.push(...Object.values(backwardWidths(config)).map((width) => rows * width));
    if (sizes.lora.length > 0) floats.push(rows * maxRank(sizes.lora));
    words.push(rows, rows + 1, rows); // rows by token
    if (architectureOf(config).positions === "learned") words.push(rows, rows + 1, rows);
  }
  return sizes.floatBytes * capacity(floats) + 4 * capacity(words);
}

/** Elements of each buffer of the head; the logits themselves come in chunks. */
function headBuffers(sizes: ModelSizes, pairs: number, train: boolean): number[] {
  const { config } = sizes;
  const wide = pairs * config.hiddenSize;
  const buffers = [wide, wide, wide, pairs, pairs, pairs, pairs];
  if (architectureOf(config).layerNorm) buffers.push(pairs);
  if (!train) return buffers;
  buffers.push(pairs, pairs); // dlogp, dentropy
  if (!trainsHead(sizes)) buffers.push(wide); // the head's mean
  return buffers;
}

function trainsHead({ trainable, saved }: ModelSizes): boolean {
  return trainable === "full" ||
    trainable === "lora" && saved.some(({ replaces }) => replaces === LM_HEAD);
}

/** Bytes that a training pass over `rows` rows keeps of the layers, with and without recomputation. */
export function planActivationBytes(
  sizes: ModelSizes,
  rows: number,
): { kept: number; recomputed: number } {
  const bytes = (keep: Keep) => sizes.floatBytes * capacity(layerBuffers(sizes, rows, keep));
  return { kept: bytes("all"), recomputed: bytes("inputs") };
}

/** Bytes of the head in a training pass with `pairs` branch tokens, and of all logits at once, which never exist. */
export function planHeadBytes(
  sizes: ModelSizes,
  pairs: number,
): { head: number; allLogits: number } {
  return {
    head: sizes.floatBytes * capacity(headBuffers(sizes, pairs, true)),
    allLogits: sizes.floatBytes * pairs * sizes.config.vocabSize,
  };
}

/** Elements of each buffer that the layers of a pass share. */
function passBuffers({ config }: ModelSizes, rows: number): number[] {
  return Object.values(passWidths(config)).map((width: number) => rows * width);
}

/** Words that say where the parts of a fused projection are. */
function fusedIndex({ config }: ModelSizes, rows: number): number[] {
  return passWidths(config).qkv === undefined ? [] : [rows, rows, rows];
}

/** Elements of each activation buffer of a trunk pass. */
function layerBuffers({ config, lora }: ModelSizes, rows: number, keep: Keep): number[] {
  const widths = activationWidths(config), layers = config.numLayers;
  const activations = Object.entries(widths).flatMap(([name, width]) => {
    const own = keep === "all" || (keep === "inputs" && name === "h");
    if (keep === "none" && name === "mid") return [];
    return Array<number>(own ? layers : 1).fill(rows * width);
  });
  const modules = new Set(lora.map((l) => l.module));
  const last: Module = modulesOf(config).at(-1)!;
  const downs = lora.filter((l) => l.module === last).length;
  const adapters = keep === "all"
    ? lora.length
    : keep === "inputs" && downs > 0
    ? modules.size - 1 + downs
    : modules.size;
  return [...activations, ...Array<number>(adapters).fill(rows * maxRank(lora))];
}

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
export const WAVE_BYTES = 2 ** 30;

/**
 * Bytes of the workspace that generations of at most these sizes, within `room` bytes, share with passes without
 * gradient over `rows` packed rows with `pairs` branch tokens, buffers of the same name once.
 */
export function planInferenceBytes(
  sizes: ModelSizes,
  wave: GenerationSizes,
  pass: { rows: number; pairs: number },
  room: number,
): number {
  const d = sizes.config.hiddenSize;
  const rows = Math.min(rowsAtOnce(wave), pass.rows), heads = Math.min(wave.branches, pass.pairs);
  const shared = sizes.floatBytes * capacity([
    ...layerBuffers(sizes, rows, "none"),
    ...passBuffers(sizes, rows),
    ...[heads * d, heads * d, heads * d, heads],
  ]);
  return Math.min(planGenerationBytes(sizes, wave), room) +
    planPassBytes(sizes, pass.rows, pass.pairs, false) - shared;
}

/** Of a pass of prompts or of a step. */
function rowsAtOnce({ promptRows, passRows = promptRows, branches }: GenerationSizes): number {
  return Math.max(Math.min(promptRows, passRows), branches);
}

/** Bytes of a generation: prompt pass, caches, and the buffers of a decoding step. */
export function planGenerationBytes(sizes: ModelSizes, wave: GenerationSizes): number {
  const { floats, words } = generationBuffers(sizes, wave);
  return sizes.floatBytes * capacity(floats) + 4 * capacity(words);
}

/** Bytes of the largest of its buffers. */
export function planLargestBuffer(sizes: ModelSizes, wave: GenerationSizes): number {
  const { floats } = generationBuffers(sizes, wave);
  return sizes.floatBytes * floats.reduce((most, n) => Math.max(most, bufferCapacity(n)), 0);
}

/** Elements of the buffers of floats and of u32. */
function generationBuffers(
  sizes: ModelSizes,
  wave: GenerationSizes,
): { floats: number[]; words: number[] } {
  const { config } = sizes, d = config.hiddenSize;
  const { promptRows, branches, adjusted = false } = wave, rows = rowsAtOnce(wave);
  const history = Math.max(16 * (branches + 64), 64 * branches); // decode_sampler.ts
  const floats = [
    ...layerBuffers(sizes, rows, "none"),
    ...passBuffers(sizes, rows),
    ...[branches * d, branches * d, branches * d, branches], // final norm
    branches * config.vocabSize, // logits
    history, // log-probabilities
    ...cacheBuffers(sizes, wave),
    promptRows * config.numKvHeads * config.headDim, // copies of beginnings
    ...layerBuffers(sizes, branches, "none"), // prompts' last rows
    ...ropeTables(sizes, promptRows + wave.maxNewTokens),
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
function cacheBuffers(sizes: ModelSizes, wave: GenerationSizes): number[] {
  const { config, floatBytes } = sizes;
  const { promptRows, branches, maxNewTokens } = wave, layers = 2 * config.numLayers;
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
export function planCacheBytes(sizes: ModelSizes, wave: GenerationSizes): number {
  return sizes.floatBytes * capacity(cacheBuffers(sizes, wave));
}

function capacity(lengths: readonly number[]): number {
  return lengths.reduce((sum, length) => sum + bufferCapacity(length), 0);
}

function maxRank(lora: readonly LoraPlacement[]): number {
  return Math.max(0, ...lora.map((l) => l.r));
}

/**
 * Refuses work that does not fit, before it begins.
 * @param options what could be set to need less, in order of usefulness
 * @param limit where the available bytes come from, when it is not the machine's free memory
 * @throws UsageError "training needs 11.2 GB, 8.0 GB available" with the options as advice
 */
export function refuseIfTooLarge(
  what: string,
  neededBytes: number,
  availableBytes: number,
  options: readonly string[],
  limit: string | null = null,
): void {
  if (neededBytes <= availableBytes) return;
  throw new UsageError(
    `${what} needs ${bytesText(neededBytes)}, ${bytesText(availableBytes)} available` +
      (limit === null ? "" : `: ${limit}`),
    options.length === 0 ? {} : { advice: `set ${options.join(" or ")}` },
  );
}
