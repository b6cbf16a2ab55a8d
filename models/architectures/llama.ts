/** The family of Llama, whose architectures differ in a few entries. */
import { type Architecture, LLAMA_MODULES } from "./architecture.ts";

/** Llama (Touvron et al. 2023) and SmolLM2. */
export const LLAMA: Architecture = {
  name: "llama",
  className: "LlamaForCausalLM",
  modules: LLAMA_MODULES,
  loraTargets: ["q_proj", "v_proj"],
  biases: [],
  biasKeys: {
    attention_bias: ["q_proj", "k_proj", "v_proj", "o_proj"],
    mlp_bias: ["gate_proj", "up_proj", "down_proj"],
  },
  headNorms: false,
  positions: "rotary",
  layerNorm: false,
  activation: "swiglu",
  inOut: false,
  window: "none",
  names: {
    embedding: "model.embed_tokens.weight",
    positions: null,
    finalNorm: "model.norm",
    layer: (layer) => `model.layers.${layer}.`,
    inputNorm: "input_layernorm",
    postNorm: "post_attention_layernorm",
    module: (module) =>
      /^(gate|up|down)_proj$/.test(module) ? `mlp.${module}` : `self_attn.${module}`,
  },
};

/**
 * Mistral 7B (Jiang et al. 2023): Llama with attention to the last `sliding_window` positions only.
 */
export const MISTRAL: Architecture = {
  ...LLAMA,
  name: "mistral",
  className: "MistralForCausalLM",
  biasKeys: {},
  window: "always",
};

/** Qwen2 and Qwen2.5 (Yang et al. 2024): Llama with biases on queries, keys and values. */
export const QWEN2: Architecture = {
  ...LLAMA,
  name: "qwen2",
  className: "Qwen2ForCausalLM",
  biases: ["q_proj", "k_proj", "v_proj"],
  biasKeys: {},
  window: "flagged",
};

/** Qwen3 (Yang et al. 2025): Llama with an RMSNorm on every query and key head. */
export const QWEN3: Architecture = {
  ...LLAMA,
  name: "qwen3",
  className: "Qwen3ForCausalLM",
  biasKeys: { attention_bias: LLAMA.biasKeys["attention_bias"]! },
  headNorms: true,
  window: "flagged",
};
