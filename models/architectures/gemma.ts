/**
 * Gemma 2 (Google 2024), and the text part of Gemma 3 (Google 2025; FunctionGemma): norms with
 * 1 + w before and after attention and MLP and of every query and key head, GeGLU, a scaled
 * embedding, and a window in five of six layers, which rotate with a base of their own. In Gemma 2
 * every second layer has a window, scores and logits have soft caps, and heads have no norms.
 */
import type { Architecture } from "./architecture.ts";
import { LLAMA } from "./llama.ts";

const { hidden_act: _, ...neutral } = LLAMA.config.neutral;
/** Both are the tanh form. */
const GELU = ["gelu_pytorch_tanh", "gelu_new"];

export const GEMMA3: Architecture = {
  ...LLAMA,
  name: "gemma3_text",
  className: "Gemma3ForCausalLM",
  gguf: "gemma3",
  biasKeys: { attention_bias: ["q", "k", "v", "o"] },
  norm1: true,
  activation: "geglu",
  interleavedInGguf: false,
  window: "typed",
  fullEvery: 6,
  slidingTheta: 10_000,
  inLayer: {
    ...LLAMA.inLayer,
    qNorm: "self_attn.q_norm",
    kNorm: "self_attn.k_norm",
    attentionOutNorm: "post_attention_layernorm",
    postNorm: "pre_feedforward_layernorm",
    mlpOutNorm: "post_feedforward_layernorm",
  },
  config: {
    ...LLAMA.config,
    defaults: {
      maxPositions: 131_072,
      sizes: { vocabSize: 262_208, numHeads: 8, numKvHeads: 4, headDim: 256 },
      rmsNormEps: 1e-6,
      tieWordEmbeddings: true,
      ropeTheta: 1_000_000,
      slidingWindow: 4096,
    },
    neutral: {
      ...neutral,
      hidden_activation: GELU,
      hidden_act: GELU,
      attn_logit_softcapping: [],
      final_logit_softcapping: [],
      use_bidirectional_attention: [false],
    },
    scalars: {
      embedding: ["hidden_size", 0.5],
      attention: ["query_pre_attn_scalar", -0.5, 256],
    },
    others: [
      ...LLAMA.config.others,
      "sliding_window_pattern",
      "rope_local_base_freq",
      "cache_implementation",
    ],
    written: { attention_dropout: 0, hidden_activation: "gelu_pytorch_tanh" },
  },
};

const { qNorm: _2, kNorm: _3, ...inLayer } = GEMMA3.inLayer;
const { attn_logit_softcapping: _4, final_logit_softcapping: _5, ...neutral2 } =
  GEMMA3.config.neutral;

const { slidingTheta: _6, ...gemma } = GEMMA3;

export const GEMMA2: Architecture = {
  ...gemma,
  name: "gemma2",
  className: "Gemma2ForCausalLM",
  gguf: "gemma2",
  fullEvery: 2,
  inLayer,
  config: {
    ...GEMMA3.config,
    defaults: {
      ...GEMMA3.config.defaults,
      maxPositions: 8192,
      sizes: { ...GEMMA3.config.defaults.sizes, vocabSize: 256_000 },
      ropeTheta: 10_000,
    },
    neutral: neutral2,
    softCaps: {
      attention: ["attn_logit_softcapping", 50],
      logits: ["final_logit_softcapping", 30],
    },
    others: [...LLAMA.config.others, "cache_implementation"],
  },
};
