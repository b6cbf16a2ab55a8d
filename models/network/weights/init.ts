/**
 * Initial weights of a new model: normal(0, range) for embeddings and linear layers, ones for
 * norms, zeros for biases (as transformers initialises them). Every tensor has its own Philox
 * stream, keyed by seed and name.
 */
import { RandomStream } from "../../../core/philox.ts";
import { architectureOf, modelTensors } from "../../architectures/mod.ts";
import { elementCount } from "../../formats/element_count.ts";
import type { ModelConfig } from "../../architectures/model_config.ts";

/** The sizes of a new model, by their names in Hugging Face's config.json. */
export interface FreshSizes {
  hidden_size: number;
  intermediate_size: number;
  num_hidden_layers: number;
  num_attention_heads: number;
  num_key_value_heads: number;
  max_position_embeddings: number;
  rope_theta: number;
  rms_norm_eps: number;
  tie_word_embeddings: boolean;
}

/** The configuration of a Llama with these sizes. */
export function freshConfig(sizes: FreshSizes, vocabSize: number): ModelConfig {
  return {
    vocabSize,
    hiddenSize: sizes.hidden_size,
    intermediateSize: sizes.intermediate_size,
    numLayers: sizes.num_hidden_layers,
    numHeads: sizes.num_attention_heads,
    numKvHeads: sizes.num_key_value_heads,
    headDim: sizes.hidden_size / sizes.num_attention_heads,
    maxPositions: sizes.max_position_embeddings,
    ropeTheta: sizes.rope_theta,
    ropeScaling: null,
    rmsNormEps: sizes.rms_norm_eps,
    tieWordEmbeddings: sizes.tie_word_embeddings,
  };
}

/** Initial weights by Hugging Face name, float32. */
export function initWeights(
  config: ModelConfig,
  seed: number,
  initializerRange: number,
): Map<string, Float32Array> {
  const weights = new Map<string, Float32Array>();
  for (const { name, part, shape, decay } of modelTensors(config)) {
    const data = new Float32Array(elementCount(shape));
    if (decay) {
      const stream = RandomStream.forPurpose(seed, "init", name);
      for (let i = 0; i < data.length; i++) data[i] = initializerRange * stream.normal();
    } else if (part === "aLog") {
      // Heads that forget at different rates.
      data.forEach((_, head) => data[head] = Math.log(1 + 15 * (head + 0.5) / data.length));
    } else if (!name.endsWith(".bias") && part !== "sinks") {
      data.fill(part !== "deltaNorm" && part !== "dtBias" && architectureOf(config).norm1 ? 0 : 1);
    }
    weights.set(name, data);
  }
  return weights;
}
