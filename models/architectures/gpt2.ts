/**
 * GPT-2 (Radford et al. 2019; distilgpt2, DialoGPT): learned positions, LayerNorm before attention
 * and MLP, GELU, biases everywhere, and [in, out] weights.
 */
import type { Architecture } from "./architecture.ts";

export const GPT2: Architecture = {
  name: "gpt2",
  className: "GPT2LMHeadModel",
  gguf: "gpt2",
  loraTargets: ["c_attn"],
  biases: ["qkv", "o", "up", "down"],
  biasKeys: {},
  positions: "learned",
  layerNorm: true,
  norm1: false,
  headNorm: "head",
  activation: "gelu",
  inOut: true,
  interleavedInGguf: false,
  window: "none",
  names: {
    embedding: "transformer.wte",
    positions: "transformer.wpe",
    finalNorm: "transformer.ln_f",
    head: "lm_head",
  },
  layers: "transformer.h.",
  inLayer: {
    inputNorm: "ln_1",
    qkv: "attn.c_attn",
    o: "attn.c_proj",
    postNorm: "ln_2",
    up: "mlp.c_fc",
    down: "mlp.c_proj",
  },
  config: {
    sizes: {
      vocabSize: "vocab_size",
      hiddenSize: "n_embd",
      intermediateSize: "n_inner",
      numLayers: "n_layer",
      numHeads: "n_head",
      maxPositions: "n_positions",
      rmsNormEps: "layer_norm_epsilon",
    },
    defaults: { widening: 4, rmsNormEps: 1e-5, tieWordEmbeddings: true },
    neutral: {
      // Both are the tanh form.
      activation_function: ["gelu_new", "gelu_pytorch_tanh"],
      scale_attn_weights: [true],
      scale_attn_by_inverse_layer_idx: [false],
      // It matters only in half precision; here sums are always in float32.
      reorder_and_upcast_attn: [false, true],
    },
    equal: { n_ctx: "n_positions" },
    // Dropout is for training from scratch; adapters have their own.
    others: [
      "attn_pdrop",
      "embd_pdrop",
      "resid_pdrop",
      "summary_activation",
      "summary_first_dropout",
      "summary_proj_to_labels",
      "summary_type",
      "summary_use_proj",
    ],
    written: {
      activation_function: "gelu_new",
      attn_pdrop: 0,
      embd_pdrop: 0,
      resid_pdrop: 0,
      scale_attn_weights: true,
    },
  },
};
