/** The `config.json` of GPT-2 models, which has other names for the sizes. */
import {
  ifPresent,
  type Json,
  readCount,
  readNumber,
  refuseUnknownKeys,
  requireNeutral,
} from "./config_fields.ts";
import { UsageError } from "../../core/errors.ts";
import type { ModelConfig } from "./model_config.ts";

const KEYS = [
  "vocab_size",
  "n_embd",
  "n_inner",
  "n_layer",
  "n_head",
  "n_positions",
  "n_ctx",
  "layer_norm_epsilon",
  "tie_word_embeddings",
  "activation_function",
];

/** Keys without effect here. Dropout is for training from scratch; adapters have their own. */
const WITHOUT_BEARING = [
  "attn_pdrop",
  "embd_pdrop",
  "resid_pdrop",
  "summary_activation",
  "summary_first_dropout",
  "summary_proj_to_labels",
  "summary_type",
  "summary_use_proj",
];

const NEUTRAL: Readonly<Record<string, readonly unknown[]>> = {
  // Both are the tanh form.
  activation_function: ["gelu_new", "gelu_pytorch_tanh"],
  scale_attn_weights: [true],
  scale_attn_by_inverse_layer_idx: [false],
  // It matters only in half precision; here sums are always in float32.
  reorder_and_upcast_attn: [false, true],
};

const KNOWN = new Set([...KEYS, ...WITHOUT_BEARING, ...Object.keys(NEUTRAL)]);

/** @throws UsageError that names the key */
export function readGpt2Config(json: Json, where: string): ModelConfig {
  requireNeutral(json, NEUTRAL, where);
  refuseUnknownKeys(json, KNOWN, where);
  const hiddenSize = readCount(json, "n_embd", where), numHeads = readCount(json, "n_head", where);
  if (hiddenSize % numHeads !== 0) {
    throw new UsageError(`${where}: n_embd ${hiddenSize} is no multiple of n_head ${numHeads}`);
  }
  const maxPositions = readCount(json, "n_positions", where);
  if ((json["n_ctx"] ?? maxPositions) !== maxPositions) {
    throw new UsageError(`${where}: n_ctx is ${json["n_ctx"]}, n_positions ${maxPositions}`);
  }
  return {
    architecture: "gpt2",
    vocabSize: readCount(json, "vocab_size", where),
    hiddenSize,
    intermediateSize: ifPresent(json["n_inner"], () => readCount(json, "n_inner", where)) ??
      4 * hiddenSize,
    numLayers: readCount(json, "n_layer", where),
    numHeads,
    numKvHeads: numHeads,
    headDim: hiddenSize / numHeads,
    maxPositions,
    ropeTheta: 10000,
    ropeScaling: null,
    rmsNormEps:
      ifPresent(json["layer_norm_epsilon"], () => readNumber(json, "layer_norm_epsilon", where)) ??
        1e-5,
    tieWordEmbeddings: json["tie_word_embeddings"] !== false,
  };
}

/** The keys that only GPT-2 has. */
export function writeGpt2Config(config: ModelConfig): Record<string, unknown> {
  return {
    activation_function: "gelu_new",
    attn_pdrop: 0,
    embd_pdrop: 0,
    layer_norm_epsilon: config.rmsNormEps,
    n_ctx: config.maxPositions,
    n_embd: config.hiddenSize,
    n_head: config.numHeads,
    n_inner: config.intermediateSize,
    n_layer: config.numLayers,
    n_positions: config.maxPositions,
    resid_pdrop: 0,
    scale_attn_weights: true,
  };
}
