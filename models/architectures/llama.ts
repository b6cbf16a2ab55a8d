/** The family of Llama, whose architectures differ in a few entries. */
import type { Architecture } from "./architecture.ts";

/** Llama (Touvron et al. 2023) and SmolLM2. */
export const LLAMA: Architecture = {
  name: "llama",
  className: "LlamaForCausalLM",
  gguf: "llama",
  loraTargets: ["q_proj", "v_proj"],
  biases: [],
  biasKeys: { attention_bias: ["q", "k", "v", "o"], mlp_bias: ["gate", "up", "down"] },
  positions: "rotary",
  layerNorm: false,
  norm1: false,
  headNorm: "head",
  activation: "swiglu",
  inOut: false,
  interleavedInGguf: true,
  window: "none",
  names: { embedding: "model.embed_tokens", finalNorm: "model.norm", head: "lm_head" },
  layers: "model.layers.",
  inLayer: {
    inputNorm: "input_layernorm",
    q: "self_attn.q_proj",
    k: "self_attn.k_proj",
    v: "self_attn.v_proj",
    o: "self_attn.o_proj",
    postNorm: "post_attention_layernorm",
    gate: "mlp.gate_proj",
    up: "mlp.up_proj",
    down: "mlp.down_proj",
  },
  config: {
    sizes: {
      vocabSize: "vocab_size",
      hiddenSize: "hidden_size",
      intermediateSize: "intermediate_size",
      numLayers: "num_hidden_layers",
      numHeads: "num_attention_heads",
      numKvHeads: "num_key_value_heads",
      headDim: "head_dim",
      maxPositions: "max_position_embeddings",
      rmsNormEps: "rms_norm_eps",
    },
    defaults: { maxPositions: 2048, rmsNormEps: 1e-6, tieWordEmbeddings: false },
    neutral: {
      hidden_act: ["silu", "swish"],
      partial_rotary_factor: [1],
      pretraining_tp: [1],
      rope_interleaved: [false],
      use_mrope: [false],
      logit_scale: [1],
      attention_multiplier: [],
      num_nextn_predict_layers: [0],
    },
    equal: {},
    others: [
      "attention_bias",
      "mlp_bias",
      "rope_theta",
      "rope_scaling",
      "rope_parameters",
      "original_max_position_embeddings",
      "sliding_window",
      "use_sliding_window",
      "max_window_layers",
      "layer_types",
    ],
    written: { attention_dropout: 0, hidden_act: "silu" },
  },
};

/** Mistral 7B (Jiang et al. 2023): Llama with attention to the last `sliding_window` positions. */
export const MISTRAL: Architecture = {
  ...LLAMA,
  name: "mistral",
  className: "MistralForCausalLM",
  biasKeys: {},
  window: "always",
};

/** Ministral 3 (Mistral AI 2025): Mistral with yarn, whose queries grow with the position. */
export const MINISTRAL3: Architecture = {
  ...MISTRAL,
  name: "ministral3",
  className: "Ministral3ForCausalLM",
  gguf: "mistral3",
  growingQueries: true,
  config: {
    ...MISTRAL.config,
    defaults: {
      maxPositions: 262_144,
      sizes: { headDim: 128, numKvHeads: 8 },
      rmsNormEps: 1e-5,
      tieWordEmbeddings: false,
      slidingWindow: null,
    },
    // A list of types would have no effect in transformers.
    others: MISTRAL.config.others.filter((key) => key !== "layer_types"),
  },
};

/** Qwen2 and Qwen2.5 (Yang et al. 2024): Llama with biases on queries, keys and values. */
export const QWEN2: Architecture = {
  ...LLAMA,
  name: "qwen2",
  className: "Qwen2ForCausalLM",
  gguf: "qwen2",
  biases: ["q", "k", "v"],
  biasKeys: {},
  interleavedInGguf: false,
  window: "flagged",
};

/** Qwen3 (Yang et al. 2025): Llama with an RMSNorm on every query and key head. */
export const QWEN3: Architecture = {
  ...LLAMA,
  name: "qwen3",
  className: "Qwen3ForCausalLM",
  gguf: "qwen3",
  biasKeys: { attention_bias: ["q", "k", "v", "o"] },
  interleavedInGguf: false,
  window: "flagged",
  inLayer: { ...LLAMA.inLayer, qNorm: "self_attn.q_norm", kNorm: "self_attn.k_norm" },
};
