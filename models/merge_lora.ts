/**
 * Copies of the weights with their adapters merged in, W + s·B·A, for generation: a decoding step is short
 * and its cost is mostly the number of operations, of which adapters are two thirds. The sums are rounded
 * once more than in the unmerged layers (about 1e−7 relative in f32). Training never uses these.
 */
import type { Linear } from "./linear.ts";
import type { LlamaCore } from "./llama_pass.ts";
import { linearDims } from "./llama_weights.ts";
import { LORA_MODULES } from "./lora.ts";
import type { ModelSizes } from "./memory_plan.ts";
import { bufferCapacity, type Workspace } from "./workspace.ts";

/** Bytes of the merged copies. */
export function mergedBytes({ config, lora, floatBytes }: ModelSizes): number {
  return lora.reduce((sum, { module }) => {
    const [inDim, outDim] = linearDims(config, module);
    return sum + floatBytes * bufferCapacity(inDim * outDim);
  }, 0);
}

/** The model as one without adapters; valid until the next call or a change of the adapters. */
export function mergeAdapters(core: LlamaCore, workspace: Workspace): LlamaCore {
  const { device, weights } = core;
  const merge = (linear: Linear, name: string): Linear => {
    const { weight, lora, inDim, outDim } = linear;
    if (lora === null) return linear;
    const n = inDim * outDim, merged = workspace.get(name, n);
    device.run("copy", { src: weight, out: merged, n });
    device.run("matmul", {
      a: lora.b,
      b: lora.a,
      out: merged,
      m: outDim,
      n: inDim,
      k: lora.r,
      alpha: lora.scale,
      accumulate: true,
    });
    return { weight: merged, dweight: null, lora: null, inDim, outDim };
  };
  const layers = weights.layers.map((layer, l) => {
    const merged = { ...layer };
    for (const module of LORA_MODULES) {
      merged[module] = merge(layer[module], `merged.${l}.${module}`);
    }
    return merged;
  });
  return { ...core, weights: { ...weights, layers }, maxRank: 0 };
}
