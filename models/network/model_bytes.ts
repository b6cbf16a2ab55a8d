/**
 * How many bytes a model and its passes need, computed from the sizes alone before anything is
 * created. It lists the same buffers that forward_pass.ts and lm_head.ts take from their
 * workspaces. Left out: what a device needs for itself (scratch of operations, thread stacks).
 */
import { bytesText } from "../../core/bytes.ts";
import { UsageError } from "../../core/errors.ts";
import type { Module } from "../architectures/architecture.ts";
import { architectureOf, LM_HEAD, modulesOf } from "../architectures/mod.ts";
import { activationWidths, backwardWidths, passWidths } from "./layer_buffers.ts";
import type { Keep } from "./forward_pass.ts";
import { adapterSpecs, baseSpecs, type LoraPlacement } from "./weights/model_weights.ts";
import type { ModelSizes } from "./weights/model_sizes.ts";
import { arenaElements } from "./weights/parameters.ts";
import { elementCount } from "../formats/element_count.ts";
import { storedWords } from "../formats/stored_weight.ts";
import { bufferCapacity } from "./workspace.ts";

/**
 * Bytes of all values, of the gradients, and of AdamW's two moments. `largestFrozen` has the bytes
 * of the two largest frozen tensors.
 */
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
    const size = storage !== null
      ? 4 * storedWords(storage, shape[0]!, shape[1]!)
      : bytes * (trainable ? arenaElements(shape) : elementCount(shape));
    values += size;
    if (trainable) trained += arenaElements(shape);
    else if (size > largest) [largest, second] = [size, largest];
    else second = Math.max(second, size);
  }
  const gradients = trained * bytes, optimizer = 2 * gradients;
  return { values, gradients, optimizer, largestFrozen: [largest, second] };
}

/**
 * Bytes of a forward pass (with `train` also of its backward) over `rows` packed rows with `pairs`
 * branch tokens, including dropout if the adapters have it. Merged weights
 * (merged_copies.ts) are not included: all passes share them. Tables of u32 are counted
 * at their maximum size.
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

/** Elements of each buffer of the head. The logits themselves are computed in chunks. */
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

/**
 * Bytes of layer activations that a training pass over `rows` rows keeps, without and with
 * recomputation.
 */
export function planActivationBytes(
  sizes: ModelSizes,
  rows: number,
): { kept: number; recomputed: number } {
  const bytes = (keep: Keep) => sizes.floatBytes * capacity(layerBuffers(sizes, rows, keep));
  return { kept: bytes("all"), recomputed: bytes("inputs") };
}

/**
 * Bytes of the head in a training pass with `pairs` branch tokens, and of all logits together,
 * which are never in memory at the same time.
 */
export function planHeadBytes(
  sizes: ModelSizes,
  pairs: number,
): { head: number; allLogits: number } {
  return {
    head: sizes.floatBytes * capacity(headBuffers(sizes, pairs, true)),
    allLogits: sizes.floatBytes * pairs * sizes.config.vocabSize,
  };
}

/** Elements of each buffer that all layers of a pass share. */
export function passBuffers({ config }: ModelSizes, rows: number): number[] {
  return Object.values(passWidths(config)).map((width: number) => rows * width);
}

/** Elements of the indices of q, k and v in a fused projection. */
export function fusedIndex({ config }: ModelSizes, rows: number): number[] {
  return passWidths(config).qkv === undefined ? [] : [rows, rows, rows];
}

/** Elements of each activation buffer of a pass over the layers. */
export function layerBuffers({ config, lora }: ModelSizes, rows: number, keep: Keep): number[] {
  const widths = activationWidths(config), layers = config.numLayers;
  const activations = Object.entries(widths).flatMap(([name, width]) => {
    const perLayer = keep === "all" || (keep === "inputs" && name === "h");
    if (keep === "none" && name === "mid") return [];
    return Array<number>(perLayer ? layers : 1).fill(rows * width);
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

/** Elements that the workspace allocates for buffers of these lengths. */
export function capacity(lengths: readonly number[]): number {
  return lengths.reduce((sum, length) => sum + bufferCapacity(length), 0);
}

function maxRank(lora: readonly LoraPlacement[]): number {
  return Math.max(0, ...lora.map((l) => l.r));
}

/**
 * Refuses work that does not fit in memory, before it begins.
 * @param options settings that reduce the memory, the most useful one first
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
