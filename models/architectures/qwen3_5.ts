/**
 * Qwen3.5 (Qwen team 2026), its text part: delta rules in three of four layers, and attention in
 * the others, whose queries come with a gate and of whose heads a quarter is rotated. Norms have
 * 1 + w, but not that of the delta rule's heads.
 */
import type { Architecture } from "./architecture.ts";
import { Fields, type Json } from "./config_fields.ts";
import { QWEN3 } from "./llama.ts";
import { MAX_LAYERS } from "./model_config.ts";

const { partial_rotary_factor: _, ...neutral } = QWEN3.config.neutral;
const INTERVAL = "full_attention_interval", LAYERS = "num_hidden_layers";

export const QWEN3_5: Architecture = {
  ...QWEN3,
  name: "qwen3_5_text",
  className: "Qwen3_5ForCausalLM",
  gguf: "qwen35",
  norm1: true,
  window: "typed",
  partialRotary: true,
  attentionGate: true,
  inLayer: {
    ...QWEN3.inLayer,
    deltaQkv: "linear_attn.in_proj_qkv",
    deltaZ: "linear_attn.in_proj_z",
    deltaB: "linear_attn.in_proj_b",
    deltaA: "linear_attn.in_proj_a",
    conv: "linear_attn.conv1d",
    aLog: "linear_attn.A_log",
    dtBias: "linear_attn.dt_bias",
    deltaNorm: "linear_attn.norm",
    deltaOut: "linear_attn.out_proj",
  },
  config: {
    ...QWEN3.config,
    defaults: {
      maxPositions: 32_768,
      sizes: {
        vocabSize: 248_320,
        hiddenSize: 4096,
        intermediateSize: 12_288,
        numLayers: 32,
        numHeads: 16,
        numKvHeads: 4,
        headDim: 256,
      },
      rmsNormEps: 1e-6,
      tieWordEmbeddings: false,
      slidingWindow: null,
    },
    renewed,
    neutral: { ...neutral, attn_output_gate: [true], output_gate_type: ["swish", "silu"] },
    others: [
      ...QWEN3.config.others,
      "partial_rotary_factor",
      INTERVAL,
      "linear_conv_kernel_dim",
      "linear_num_key_heads",
      "linear_num_value_heads",
      "linear_key_head_dim",
      "linear_value_head_dim",
      // A list without experts, a type that rgx does not need, and a head that is left aside.
      "mlp_only_layers",
      "mamba_ssm_dtype",
      "mtp_num_hidden_layers",
      "mtp_use_dedicated_embeddings",
    ],
    // A token has three positions, which are equal in a text.
    ropeOthers: ["mrope_section", "mrope_interleaved"],
  },
};

/** As transformers' configuration reads the keys: a quarter is rotated, and layers by number. */
function renewed(json: Json, where: string): Json {
  const of = new Fields(json, where);
  const every = of.count(INTERVAL, 4), layers = Math.min(of.count(LAYERS, 32), MAX_LAYERS);
  return {
    ...json,
    partial_rotary_factor: json["partial_rotary_factor"] ?? 0.25,
    layer_types: json["layer_types"] ??
      Array.from(
        { length: layers },
        (_, l) => (l + 1) % every === 0 ? "full_attention" : "linear_attention",
      ),
  };
}
