/**
 * Weights of a model from scratch: normal(0, range) for embeddings and linear layers, ones for norms and zeros
 * for biases (as transformers initialises them), every tensor from its own Philox stream keyed by seed and name.
 */
import { RandomStream } from "../core/philox.ts";
import { llamaTensors } from "./llama_weights.ts";
import { elementCount } from "./safetensors.ts";
import type { LlamaConfig } from "./types.ts";

export interface InitOptions {
  /**
   * Divide the range of what writes to the residual stream (o_proj, down_proj; c_proj) by √(2·layers) (GPT-2, Radford et al. 2019), so that the
   * residual stream does not grow with depth. Default false, as in transformers' Llama.
   */
  scaleResidual?: boolean;
}

/** Fresh weights by Hugging Face name, float32. */
export function initWeights(
  config: LlamaConfig,
  seed: number,
  initializerRange: number,
  options: InitOptions = {},
): Map<string, Float32Array> {
  const residualRange = initializerRange / Math.sqrt(2 * config.numLayers);
  const weights = new Map<string, Float32Array>();
  for (const { name, shape, decay } of llamaTensors(config)) {
    const data = new Float32Array(elementCount(shape));
    if (decay) {
      const writesResidual = /\.(o_proj|down_proj|c_proj)\.weight$/.test(name);
      const range = options.scaleResidual && writesResidual ? residualRange : initializerRange;
      const stream = RandomStream.forPurpose(seed, "init", name);
      for (let i = 0; i < data.length; i++) data[i] = range * stream.normal();
    } else if (!name.endsWith(".bias")) {
      data.fill(1);
    }
    weights.set(name, data);
  }
  return weights;
}
