/**
 * Llama (Touvron et al. 2023) and SmolLM2. The other architectures of its family differ in a few
 * entries.
 */
import { type Architecture, LLAMA_MODULES } from "./architecture.ts";

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
