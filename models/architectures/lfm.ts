/**
 * LFM2 and LFM2.5 (Liquid AI 2025): short convolutions with gates in most layers, attention with
 * normed heads in the others, and a norm after the layers that is named after the embedding.
 */
import type { Architecture } from "./architecture.ts";
import { Fields, type Json } from "./config_fields.ts";
import { LLAMA } from "./llama.ts";
import { MAX_LAYERS } from "./model_config.ts";

export const LFM2: Architecture = {
  ...LLAMA,
  name: "lfm2",
  className: "Lfm2ForCausalLM",
  gguf: "lfm2",
  biasKeys: {},
  interleavedInGguf: false,
  window: "typed",
  names: { ...LLAMA.names, finalNorm: "model.embedding_norm" },
  inLayer: {
    inputNorm: "operator_norm",
    postNorm: "ffn_norm",
    q: "self_attn.q_proj",
    k: "self_attn.k_proj",
    v: "self_attn.v_proj",
    o: "self_attn.out_proj",
    qNorm: "self_attn.q_layernorm",
    kNorm: "self_attn.k_layernorm",
    convIn: "conv.in_proj",
    conv: "conv.conv",
    convOut: "conv.out_proj",
    gate: "feed_forward.w1",
    up: "feed_forward.w3",
    down: "feed_forward.w2",
  },
  config: {
    ...LLAMA.config,
    sizes: { ...LLAMA.config.sizes, rmsNormEps: "norm_eps" },
    defaults: {
      maxPositions: 128_000,
      sizes: { vocabSize: 65_536, numHeads: 32, numKvHeads: 8 },
      rmsNormEps: 1e-5,
      tieWordEmbeddings: true,
      ropeTheta: 1_000_000,
      slidingWindow: null,
    },
    renewed,
    neutral: {
      ...LLAMA.config.neutral,
      conv_bias: [false],
      block_use_swiglu: [true],
      use_pos_enc: [true],
    },
    equal: { conv_dim: "hidden_size", conv_dim_out: "hidden_size", block_dim: "hidden_size" },
    others: [
      ...LLAMA.config.others,
      "conv_L_cache",
      "full_attn_idxs",
      "block_auto_adjust_ff_dim",
      "block_multiple_of",
      "block_ffn_dim_multiplier",
      "block_ff_dim",
      "tie_embedding",
      // Second names, and how weights were initialised.
      "theta",
      "num_heads",
      "block_norm_eps",
      "conv_use_xavier_init",
      "block_use_xavier_init",
      "block_mlp_init_scale",
      "block_out_init_scale",
    ],
    written: { block_auto_adjust_ff_dim: false },
  },
};

/** As transformers' configuration reads the keys: the MLP's width, layers by number, tying. */
function renewed(json: Json, where: string): Json {
  const of = new Fields(json, where);
  let width = of.number("block_ff_dim", of.number("intermediate_size", 12_288));
  if (json["block_auto_adjust_ff_dim"] !== false) {
    const multiple = of.count("block_multiple_of", 256);
    width = Math.floor(2 * width / 3);
    if (json["block_ffn_dim_multiplier"] !== null) {
      width = Math.floor(of.number("block_ffn_dim_multiplier", 1) * width);
      width = multiple * Math.ceil(width / multiple);
    }
  }
  const layers = of.count("num_hidden_layers"), full = json["full_attn_idxs"];
  const types = Array.from(
    { length: Math.min(layers, MAX_LAYERS) },
    (_, l) => !Array.isArray(full) || full.includes(l) ? "full_attention" : "conv",
  );
  return {
    ...json,
    intermediate_size: width,
    layer_types: json["layer_types"] ?? types,
    tie_word_embeddings: json["tie_embedding"] ?? json["tie_word_embeddings"] ?? true,
  };
}
