/** Whether a decode step can run each layer as one operation (kernels/ops/decode_layer). */
import { matrixCount } from "../architectures/mixtures.ts";
import { isPlainLlama, linearDims, modulesOf } from "../architectures/mod.ts";
import type { ModelConfig } from "../architectures/model_config.ts";

/**
 * Layers are fused when the weights of all of them fit in a cache that the threads share: each
 * thread then reads all weights for its own branches. Larger weights are read from memory once for
 * all branches.
 */
const MAX_FUSED_BYTES = 2 ** 24;

export function weightsFitInCache(config: ModelConfig, floatBytes: number): boolean {
  const elements = config.numLayers * modulesOf(config).reduce((sum, module) => {
    const [inDim, outDim] = linearDims(config, module, null);
    return sum + inDim * outDim * matrixCount(config, module);
  }, 0);
  return floatBytes * elements <= MAX_FUSED_BYTES;
}

/** Whether a decode step can run each layer as one operation, if its weights are packed. */
export function canFuseLayers(config: ModelConfig, floatBytes: number): boolean {
  return isPlainLlama(config) && weightsFitInCache(config, floatBytes);
}
