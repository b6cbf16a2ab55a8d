/**
 * The network for generation: float weights are packed for products with few rows, with adapters
 * merged in. A decode step is short; its cost is mostly the number of operations and reading the
 * weights. Weights in a storage type stay as they are, next to their adapters: float copies would
 * take several times the memory. On a CPU the adapters' A are packed, too. A card packs nothing: it
 * reads float weights as they are, or copies with adapters merged in, and the head's adapter stays
 * beside it. For products in bfloat16 weights are rounded (below); for those in float16 all weights
 * stay as they are, and products round them.
 */
import { packedLength } from "../../kernels/ops/matmul/spec.ts";
import { type Tensor, VIEW_ALIGNMENT } from "../../kernels/tensor.ts";
import type { Module } from "../architectures/architecture.ts";
import { linearDims, modulesOf } from "../architectures/mod.ts";
import type { Linear } from "../network/linear.ts";
import type { ModelSizes } from "../network/weights/model_sizes.ts";
import { type Network, withLinears } from "../network/weights/model_weights.ts";
import { mergeInto } from "../network/merged_copies.ts";
import type { WeightCopies } from "../network/weights/model_base.ts";
import { storedWords } from "../../kernels/mod.ts";
import type { Device } from "../../kernels/device.ts";
import { fitsType } from "../formats/stored_weight.ts";

function largestWeight(config: ModelSizes["config"]): number {
  return Math.max(
    ...modulesOf(config).map((module) => {
      const [inDim, outDim] = linearDims(config, module, null);
      return inDim * outDim;
    }),
  );
}

/** Bytes of the part of the head that is merged at once. */
const HEAD_PART_BYTES = 2 ** 22;

/** Rows of the head that are merged at once: a multiple of what views are aligned to, or all. */
function headPart({ vocabSize, hiddenSize }: ModelSizes["config"]): number {
  const rows = Math.floor(HEAD_PART_BYTES / (4 * hiddenSize * VIEW_ALIGNMENT)) * VIEW_ALIGNMENT;
  return Math.min(vocabSize, Math.max(VIEW_ALIGNMENT, rows));
}

/** Packs the head with its adapter merged in, part by part, so that it exists only once more. */
function packMergedHead(
  { device, config, weights: { head, headLora } }: Network,
  { workspace }: WeightCopies,
  packed: Tensor,
): void {
  const { vocabSize, hiddenSize: k } = config, { a, b, r, scale } = headLora!;
  const part = headPart(config), merged = workspace.fixed("head.part", part * k);
  for (let first = 0; first < vocabSize; first += part) {
    const n = Math.min(part, vocabSize - first);
    device.run("copy", { src: head.value.view(first * k, n * k), out: merged, n: n * k });
    device.run("matmul", {
      a: b.view(first * r, n * r),
      b: a,
      out: merged,
      m: n,
      n: k,
      k: r,
      alpha: scale,
      accumulate: true,
    });
    const out = packed.view(first * k, packedLength(n, k));
    device.run("pack_weight", { weight: merged, out, n, k });
  }
}

/** A stored weight, whose adapter has a packed copy of A on a CPU. */
function withPackedA(
  linear: Linear,
  layer: number,
  module: Module,
  { workspace }: WeightCopies,
): Linear {
  const { lora, inDim: k } = linear, { device } = workspace;
  if (lora === null || device.adapter !== undefined) return linear;
  const packedA = workspace.fixed(`${layer}.${module}.a`, packedLength(lora.r, k));
  device.run("pack_weight", { weight: lora.a, out: packedA, n: lora.r, k });
  return { ...linear, lora: { ...lora, packedA } };
}

/** A layer's bias with that of its adapter merged in. */
function mergedBias(
  { bias, lora, outDim: n }: Linear,
  layer: number,
  module: Module,
  { workspace }: WeightCopies,
): Linear["bias"] {
  if (lora === null || lora.bias === null) return bias;
  const { device } = workspace, { bias: { value: b }, scale } = lora;
  const value = workspace.fixed(`${layer}.${module}.bias`, n);
  device.run("add", { ...(bias === null ? {} : { a: bias.value }), b, out: value, n, scale });
  return { value, grad: null };
}

export interface PackOptions {
  /** Weights of another model, which are used where they are the same. */
  shared?: SharedWeights;
  /** Leaves adapters beside shared weights, and makes no copies with them merged in. */
  separate?: boolean;
}

/**
 * The network with packed float weights and their adapters merged in. It is valid until the copies
 * have another owner or a weight changes; calling this again makes it valid again.
 */
export function packWeights(
  network: Network,
  copies: WeightCopies,
  { shared, separate = false }: PackOptions = {},
): Network {
  const { device, config, weights } = network, { workspace } = copies;
  const onCard = device.adapter !== undefined;
  if (device.computeDtype === "bfloat16") return roundWeights(network, copies, shared);
  if (device.computeDtype === "float16") return network;
  const pack = (linear: Linear, layer: number, module: Module): Linear => {
    const { inDim, outDim, lora } = linear;
    if (linear.experts !== null) return linear;
    let { weight } = linear;
    if (lora === null || separate) {
      const same = shared?.linear(linear, layer, module);
      if (same) return { ...same, lora };
    }
    if (linear.storage !== null) {
      return separate ? linear : withPackedA(linear, layer, module, copies);
    }
    if (linear.inOut || onCard) {
      // Only [out, in] weights on a CPU can be packed: these are merged only.
      if (lora === null || (onCard && separate)) return linear;
      weight = copies.buffer(linear, layer, module);
      mergeInto(device, linear, weight, true);
      return { ...linear, weight, bias: mergedBias(linear, layer, module, copies), lora: null };
    }
    if (lora !== null) {
      weight = workspace.fixed("one", largestWeight(config));
      mergeInto(device, linear, weight, true);
    }
    const bias = lora === null ? linear.bias : mergedBias(linear, layer, module, copies);
    const packed = copies.buffer(linear, layer, module);
    device.run("pack_weight", { weight, out: packed, n: outDim, k: inDim });
    return { ...linear, packed, bias, lora: null };
  };
  const layers = withLinears(config, weights, pack);
  const { vocabSize: n, hiddenSize: k } = config;
  const { headLora } = weights, packed = { ...network, weights: { ...weights, layers } };
  if (weights.head.storage !== null || onCard) return packed;
  const sameHead = headLora === null ? shared?.head(network) : null;
  if (sameHead) return { ...packed, weights: { ...packed.weights, ...sameHead } };
  const packedHead = workspace.fixed("head", packedLength(n, k));
  if (headLora !== null) packMergedHead(network, copies, packedHead);
  else device.run("pack_weight", { weight: weights.head.value, out: packedHead, n, k });
  return { ...packed, weights: { ...packed.weights, packedHead, headLora: null } };
}

// The network for generation with products in bfloat16: float weights are rounded once, to copies
// of two bytes a value, so that a step reads half as much memory. Products would round the same
// values the same way. Adapters stay beside their weights (network/merged_copies.ts).

/** Values that are rounded at once: a multiple of what views are aligned to. */
const PART = 2 ** 20;
const TYPE = "bf16";

/** Rounds `n` (even) values to `copy`. `rest` takes what is left, which nobody needs. */
function round(device: Device, x: Tensor, copy: Tensor, rest: Tensor, n: number): void {
  const key = { first: 0, c1: 0, c2: 0, c3: 0, seedLow: 0, seedHigh: 0 };
  for (let first = 0; first < n; first += PART) {
    const count = Math.min(PART, n - first), weight = copy.view(first / 2, count / 2);
    device.run("round_bf16", { x: x.view(first, count), weight, rest, n: count, ...key });
  }
}

/** The network with rounded copies of its float weights; valid as long as that of packWeights. */
function roundWeights(
  network: Network,
  copies: WeightCopies,
  shared: SharedWeights | undefined,
): Network {
  const { device, config, weights } = network, { workspace } = copies;
  const rest = () => workspace.fixed("rest", PART / 2, "u32");
  const copyOf = (name: string, value: Tensor, rows: number, width: number): Tensor => {
    const copy = workspace.fixed(`rounded.${name}`, storedWords(TYPE, rows, width), "u32");
    round(device, value, copy, rest(), rows * width);
    return copy;
  };
  const layers = withLinears(config, weights, (linear, layer, module) => {
    const same = shared?.linear(linear, layer, module);
    if (same) return { ...same, lora: linear.lora };
    const { weight, storage, inOut, inDim, outDim, experts } = linear;
    const [rows, width] = inOut ? [inDim, outDim] : [(experts ?? 1) * outDim, inDim];
    if (storage !== null || !fitsType(TYPE, width)) return linear;
    const copy = copyOf(`${layer}.${module}`, weight, rows, width);
    return { ...linear, weight: copy, storage: TYPE };
  });
  const sameHead = shared?.head(network);
  if (sameHead) return { ...network, weights: { ...weights, layers, ...sameHead } };
  const { vocabSize, hiddenSize } = config, { head } = weights;
  const roundsHead = head.storage == null && fitsType(TYPE, hiddenSize);
  return {
    ...network,
    weights: {
      ...weights,
      layers,
      head: roundsHead
        ? { ...head, value: copyOf("head", head.value, vocabSize, hiddenSize), storage: TYPE }
        : head,
    },
  };
}

// Packed weights of a generation's own model, which models with other adapters on the same base
// use, too: those of linear layers in which no adapter is merged.

export class SharedWeights {
  /** @param packed the same with packed or rounded copies (packed_weights.ts) */
  constructor(private readonly source: Network, private readonly packed: Network) {}

  /** The packed weight of a linear layer without its adapter; null = it is not the same weight. */
  linear(linear: Linear, layer: number, module: Module): Linear | null {
    const source = this.source.weights.layers[layer]![module];
    if (source.lora !== null || source.weight !== linear.weight) return null;
    const shared = this.packed.weights.layers[layer]![module];
    const isCopy = shared.packed !== null || shared.storage !== source.storage;
    return isCopy && shared.lora === null ? shared : null;
  }

  /** The head with its packed form, for a network with the same head; null = it has another one. */
  head({ weights: { head } }: Network): Pick<Network["weights"], "head" | "packedHead"> | null {
    const { source: { weights: source }, packed: { weights: packed } } = this;
    if (source.headLora !== null || source.head.value !== head.value) return null;
    const isCopy = packed.packedHead !== null || packed.head.storage !== source.head.storage;
    return isCopy ? { head: packed.head, packedHead: packed.packedHead } : null;
  }
}
