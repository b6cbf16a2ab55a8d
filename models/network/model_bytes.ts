/**
 * How many bytes a model and its passes need, computed from the sizes alone before anything is
 * created. It lists the same buffers that forward_pass.ts and lm_head.ts take from their
 * workspaces. Left out: what a device needs for itself (scratch of operations, thread stacks).
 */
import { bytesText } from "../../core/bytes.ts";
import { UsageError } from "../../core/errors.ts";
import type { Module } from "../architectures/architecture.ts";
import { architectureOf, LM_HEAD, modulesOf } from "../architectures/mod.ts";
import { dependsOnLength } from "../architectures/rope_frequencies.ts";
import { activationWidths, backwardWidths, passWidths } from "./layer_buffers.ts";
import type { Keep } from "./forward_pass.ts";
import {
  adapterSpecs,
  baseSpecs,
  headAdapter,
  layerAdapters,
  maxLayerRank,
} from "./weights/model_weights.ts";
import type { ModelSizes } from "./weights/model_sizes.ts";
import { arenaElements } from "./weights/parameters.ts";
import { elementCount } from "../formats/element_count.ts";
import { storedWords, type WeightStorage } from "../formats/stored_weight.ts";
import { bufferCapacity } from "./workspace.ts";

/** Bytes of a model's parameters. */
export interface ParameterBytes {
  /** All values, and those of trained parameters among them. */
  values: number;
  trained: number;
  gradients: number;
  /** The two largest frozen tensors. */
  largestFrozen: [number, number];
  /** The largest gradient. */
  largestGradient: number;
}

export function planParameterBytes(sizes: ModelSizes): ParameterBytes {
  const { config, trainable: what } = sizes;
  const specs = [
    ...baseSpecs(config, what === "full", sizes.storage),
    ...adapterSpecs(config, sizes, what === "lora"),
  ];
  const bytes = sizes.floatBytes;
  let values = 0, trained = 0, gradients = 0, largestGradient = 0, largest = 0, second = 0;
  for (const { shape, trainable, storage = null } of specs) {
    const size = storage !== null
      ? 4 * storedWords(storage, shape[0]!, shape[1]!)
      : bytes * (trainable ? arenaElements(shape) : elementCount(shape));
    values += size;
    if (trainable) {
      const gradient = bytes * arenaElements(shape);
      trained += size;
      gradients += gradient;
      largestGradient = Math.max(largestGradient, gradient);
    } else if (size > largest) [largest, second] = [size, largest];
    else second = Math.max(second, size);
  }
  return { values, trained, gradients, largestFrozen: [largest, second], largestGradient };
}

/**
 * Bytes of a frozen copy of what is trained (`CausalLM.frozenCopy`).
 * @param storage types of the copy of a model that is trained in full
 */
export function planCopyBytes(sizes: ModelSizes, storage: WeightStorage): number {
  const { config, trainable: what, floatBytes } = sizes;
  if (what !== "full") {
    const specs = adapterSpecs(config, sizes, false);
    return specs.reduce((sum, { shape }) => sum + floatBytes * elementCount(shape), 0);
  }
  return planParameterBytes({ ...sizes, trainable: "none", storage }).values;
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
    ...angleBuffers(sizes, rows),
    ...headBuffers(sizes, pairs, train),
  ];
  const words = [rows, rows, rows, 5 * rows, pairs, pairs + 1, pairs]; // tokens … targets
  words.push(...fusedIndex(sizes, rows), ...angleIndex(sizes, rows));
  if (sizes.dropout !== null) {
    floats.push(rows * sizes.dropout.width);
    words.push(3 * rows);
    if (headAdapter(sizes.lora) !== null) words.push(3 * pairs);
  }
  if (train) {
    floats.push(...Object.values(backwardWidths(config)).map((width) => rows * width));
    if (layerAdapters(sizes.lora).length > 0) floats.push(rows * maxLayerRank(sizes.lora));
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
  const adapter = headAdapter(sizes.lora);
  if (adapter !== null) buffers.push(pairs * adapter.r);
  if (!train) return buffers;
  buffers.push(pairs, pairs); // dlogp, dentropy
  if (adapter !== null) buffers.push(pairs * adapter.r);
  else if (!trainsHead(sizes)) buffers.push(wide); // the head's mean
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

/** Bytes of the activations of one layer, which all layers of a restored pass share. */
export function planRestoredBytes(sizes: ModelSizes, rows: number): number {
  const mid = rows * sizes.config.hiddenSize;
  return sizes.floatBytes * capacity([...layerBuffers(sizes, rows, "none"), mid]);
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

/**
 * Elements of cos and sin of each row, which prompts need whose RoPE frequencies depend on their
 * length.
 */
export function angleBuffers({ config }: ModelSizes, rows: number): number[] {
  const width = rows * config.headDim / 2;
  return dependsOnLength(config.ropeScaling) ? [width, width] : [];
}

/** Elements of the index of these rows. */
export function angleIndex({ config }: ModelSizes, rows: number): number[] {
  return dependsOnLength(config.ropeScaling) ? [rows] : [];
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
  const adapted = layerAdapters(lora), modules = new Set(adapted.map((l) => l.module));
  const last: Module = modulesOf(config).at(-1)!;
  const downs = adapted.filter((l) => l.module === last).length;
  const adapters = keep === "all"
    ? adapted.length
    : keep === "inputs" && downs > 0
    ? modules.size - 1 + downs
    : modules.size;
  return [...activations, ...Array<number>(adapters).fill(rows * maxLayerRank(lora))];
}

/** Elements that the workspace allocates for buffers of these lengths. */
export function capacity(lengths: readonly number[]): number {
  return lengths.reduce((sum, length) => sum + bufferCapacity(length), 0);
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
