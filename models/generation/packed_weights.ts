/**
 * The network for generation: float weights are packed for products with few rows, with adapters
 * merged in. A decode step is short; its cost is mostly the number of operations and reading the
 * weights. Weights in a storage type stay as they are, next to their adapters: float copies would
 * take several times the memory.
 */
import { packedLength } from "../../kernels/ops/matmul/spec.ts";
import type { Module } from "../architectures/architecture.ts";
import {
  architectureOf,
  headName,
  linearDims,
  LM_HEAD,
  modulePath,
  modulesOf,
} from "../architectures/mod.ts";
import type { Linear } from "../network/linear.ts";
import type { Network } from "../network/forward_pass.ts";

import type { ModelSizes } from "../network/weights/model_sizes.ts";
import { mergeInto } from "../network/merged_copies.ts";
import type { WeightCopies } from "../network/weights/weight_copies.ts";

/** Whether a layer's weight is in a storage type. Weights that the adapter replaces are float. */
function isStored({ saved, storage }: ModelSizes, name: string): boolean {
  return storage.has(name) && !saved.some(({ replaces }) => replaces === name);
}

/** Whether generation has packed copies of all modules of all layers. */
export function packsLayers(sizes: ModelSizes): boolean {
  const { config } = sizes, layers = Array.from({ length: config.numLayers }, (_, layer) => layer);
  return !architectureOf(config).inOut &&
    modulesOf(config).every((module) =>
      layers.every((layer) => !isStored(sizes, `${modulePath(config, layer, module)}.weight`))
    );
}

/** Bytes of the packed copies, and of the buffer in which one weight at a time is merged. */
export function packedBytes(sizes: ModelSizes): number {
  const { config, lora, saved, storage, floatBytes } = sizes;
  const { vocabSize, hiddenSize, numLayers } = config, { inOut } = architectureOf(config);
  const headStored = storage.has(headName(config)) &&
    !saved.some(({ replaces }) => replaces === LM_HEAD);
  let elements = headStored ? 0 : packedLength(vocabSize, hiddenSize);
  const adapted = lora.filter(({ path }) => !storage.has(`${path}.weight`));
  if (inOut) {
    const merged = adapted.map(({ module }) => linearDims(config, module));
    for (const [inDim, outDim] of merged) elements += inDim * outDim;
    return floatBytes * elements;
  }
  for (let layer = 0; layer < numLayers; layer++) {
    for (const module of modulesOf(config)) {
      const name = `${modulePath(config, layer, module)}.weight`;
      if (isStored(sizes, name)) continue;
      const [inDim, outDim] = linearDims(config, module);
      elements += packedLength(outDim, inDim);
    }
  }
  if (adapted.length > 0) elements += largestWeight(config);
  return floatBytes * elements;
}

function largestWeight(config: ModelSizes["config"]): number {
  return Math.max(
    ...modulesOf(config).map((module) => {
      const [inDim, outDim] = linearDims(config, module);
      return inDim * outDim;
    }),
  );
}

/**
 * The network with packed float weights and their adapters merged in (or left out when `adapter` is
 * false). It is valid until the copies have another owner or a weight changes; calling this again
 * makes it valid again.
 */
export function packWeights(network: Network, copies: WeightCopies, adapter: boolean): Network {
  const { device, config, weights } = network, { workspace } = copies;
  const pack = (linear: Linear, layer: number, module: Module): Linear => {
    const { lora, inDim, outDim } = linear;
    let { weight } = linear;
    if (linear.storage !== null) return adapter ? linear : { ...linear, lora: null };
    if (linear.inOut) {
      // Only [out, in] weights can be packed: these are merged only.
      if (!adapter || lora === null) return { ...linear, lora: null };
      weight = copies.buffer(linear, layer, module);
      mergeInto(device, linear, weight);
      return { ...linear, weight, lora: null };
    }
    if (adapter && lora !== null) {
      weight = workspace.fixed("one", largestWeight(config));
      mergeInto(device, linear, weight);
    }
    const packed = copies.buffer(linear, layer, module);
    device.run("pack_weight", { weight, out: packed, n: outDim, k: inDim });
    return { ...linear, packed, lora: null };
  };
  const layers = weights.layers.map((layer, l) => {
    const packed = { ...layer };
    for (const module of modulesOf(config)) {
      packed[module] = pack(layer[module], l, module);
    }
    return packed;
  });
  const { vocabSize: n, hiddenSize: k } = config;
  const packed = { ...network, weights: { ...weights, layers } };
  if (weights.head.storage !== null) return packed;
  const packedHead = workspace.fixed("head", packedLength(n, k));
  device.run("pack_weight", { weight: weights.head.value, out: packedHead, n, k });
  return { ...packed, weights: { ...packed.weights, packedHead } };
}
