/**
 * OLMo 2 and 3 (Ai2 2024 and 2025): norms after attention and MLP only, and of whole rows of
 * queries and keys. In OLMo 3 three of four layers have a window.
 */
import type { Architecture } from "./architecture.ts";
import { LLAMA } from "./llama.ts";

const { inputNorm: _, postNorm: _2, ...inLayer } = LLAMA.inLayer;

export const OLMO2: Architecture = {
  ...LLAMA,
  name: "olmo2",
  className: "Olmo2ForCausalLM",
  gguf: "olmo2",
  biasKeys: { attention_bias: ["q", "k", "v", "o"] },
  interleavedInGguf: false,
  headNorm: "row",
  inLayer: {
    ...inLayer,
    attentionOutNorm: "post_attention_layernorm",
    mlpOutNorm: "post_feedforward_layernorm",
    qNorm: "self_attn.q_norm",
    kNorm: "self_attn.k_norm",
  },
  config: {
    ...LLAMA.config,
    defaults: { maxPositions: 2048, rmsNormEps: 1e-5, tieWordEmbeddings: false },
    neutral: { ...LLAMA.config.neutral, clip_qkv: [] },
  },
};

export const OLMO3: Architecture = {
  ...OLMO2,
  name: "olmo3",
  className: "Olmo3ForCausalLM",
  window: "typed",
  fullEvery: 4,
  slidingTheta: 500_000,
  config: {
    ...OLMO2.config,
    defaults: { ...OLMO2.config.defaults, ropeTheta: 500_000, slidingWindow: 4096 },
  },
};
