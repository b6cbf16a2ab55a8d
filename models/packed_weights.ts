/**
 * The model as generation wants it: weights packed for many small products, adapters merged in. A
 * decoding step is short, and its cost is mostly the number of operations and the reading of weights.
 */
import { packedLength } from "../kernels/matmul/spec.ts";
import { architectureOf, linearDims, modulesOf } from "./architectures/mod.ts";
import type { Linear } from "./linear.ts";
import type { LlamaCore } from "./llama_pass.ts";
import type { ModelSizes } from "./model_sizes.ts";
import { mergeInto } from "./merge_lora.ts";
import { bufferCapacity, type Workspace } from "./workspace.ts";

/** Bytes of the packed copies, and of the one weight at a time that is merged. */
export function packedBytes({ config, lora, floatBytes }: ModelSizes): number {
  const { vocabSize, hiddenSize, numLayers } = config;
  let elements = bufferCapacity(packedLength(vocabSize, hiddenSize));
  if (architectureOf(config).inOut) {
    const merged = lora.map(({ module }) => linearDims(config, module));
    for (const [inDim, outDim] of merged) elements += bufferCapacity(inDim * outDim);
    return floatBytes * elements;
  }
  for (const module of modulesOf(config)) {
    const [inDim, outDim] = linearDims(config, module);
    elements += numLayers * bufferCapacity(packedLength(outDim, inDim));
  }
  if (lora.length > 0) elements += bufferCapacity(largestWeight(config));
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
 * The model without adapters: merged in, or left out when `adapter` is false. Valid until the next call or a
 * change of any weight.
 */
export function packWeights(core: LlamaCore, workspace: Workspace, adapter: boolean): LlamaCore {
  const { device, config, weights } = core;
  const pack = (linear: Linear, name: string): Linear => {
    const { lora, inDim, outDim } = linear;
    let { weight } = linear;
    if (linear.inOut) {
      // Packing takes [out, in]: these are merged only.
      if (!adapter || lora === null) return { ...linear, lora: null };
      weight = workspace.get(name, inDim * outDim);
      mergeInto(device, linear, weight);
      return { ...linear, weight, lora: null };
    }
    if (adapter && lora !== null) {
      weight = workspace.get("merged", largestWeight(config));
      mergeInto(device, linear, weight);
    }
    const packed = workspace.get(name, packedLength(outDim, inDim));
    device.run("pack_weight", { weight, out: packed, n: outDim, k: inDim });
    return { ...linear, packed, lora: null };
  };
  const layers = weights.layers.map((layer, l) => {
    const packed = { ...layer };
    for (const module of modulesOf(config)) {
      packed[module] = pack(layer[module], `packed.${l}.${module}`);
    }
    return packed;
  });
  const { vocabSize: n, hiddenSize: k } = config;
  const packedHead = workspace.get("packed.head", packedLength(n, k));
  device.run("pack_weight", { weight: weights.head.value, out: packedHead, n, k });
  return { ...core, weights: { ...weights, layers, packedHead }, maxRank: 0 };
}
