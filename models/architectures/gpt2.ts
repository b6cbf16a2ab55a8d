/**
 * GPT-2 (Radford et al. 2019; distilgpt2, DialoGPT): learned positions, LayerNorm before attention
 * and MLP, GELU, biases everywhere, and [in, out] weights.
 */
import { type Architecture, GPT2_MODULES } from "./architecture.ts";

export const GPT2: Architecture = {
  name: "gpt2",
  className: "GPT2LMHeadModel",
  modules: GPT2_MODULES,
  loraTargets: ["c_attn"],
  biases: GPT2_MODULES,
  biasKeys: {},
  headNorms: false,
  positions: "learned",
  layerNorm: true,
  activation: "gelu",
  inOut: true,
  window: "none",
  names: {
    embedding: "transformer.wte.weight",
    positions: "transformer.wpe.weight",
    finalNorm: "transformer.ln_f",
    layer: (layer) => `transformer.h.${layer}.`,
    inputNorm: "ln_1",
    postNorm: "ln_2",
    module: (module) => module,
  },
};
