/**
 * Granite 3 and the dense models of Granite 4 (IBM 2024 and 2025): Llama with four multipliers. A
 * dense Granite 4 is a hybrid without experts and without Mamba; one module computes both inputs of
 * its MLP, and there may be no rotation.
 */
import type { Architecture } from "./architecture.ts";
import { LLAMA } from "./llama.ts";

const { logit_scale: _, attention_multiplier: _2, ...neutral } = LLAMA.config.neutral;

export const GRANITE: Architecture = {
  ...LLAMA,
  name: "granite",
  className: "GraniteForCausalLM",
  gguf: "granite",
  config: {
    ...LLAMA.config,
    neutral,
    scalars: {
      embedding: ["embedding_multiplier", 1, 1],
      attention: ["attention_multiplier", 1, 1],
      residual: ["residual_multiplier", 1, 1],
      logits: ["logits_scaling", 1, 1],
    },
  },
};

const { gate: _3, up: _4, ...inLayer } = LLAMA.inLayer;

export const GRANITE_HYBRID: Architecture = {
  ...GRANITE,
  name: "granitemoehybrid",
  className: "GraniteMoeHybridForCausalLM",
  // llama.cpp has no dense hybrid: such a file is a Granite, with gate and up apart.
  gguf: "granite",
  biasKeys: { attention_bias: ["q", "k", "v", "o"] },
  window: "typed",
  unrotated: "by type",
  inLayer: {
    ...inLayer,
    gateUp: "shared_mlp.input_linear",
    down: "shared_mlp.output_linear",
  },
  config: {
    ...GRANITE.config,
    sizes: { ...LLAMA.config.sizes, intermediateSize: "shared_intermediate_size" },
    neutral: {
      ...neutral,
      num_local_experts: [0],
      output_router_logits: [false],
      sliding_window: [],
    },
    // Keys of experts and Mamba layers, which there are none of.
    others: [
      ...LLAMA.config.others,
      "intermediate_size",
      "num_experts_per_tok",
      "router_aux_loss_coef",
      "position_embedding_type",
      "time_step_limit",
      ...["n_heads", "n_groups", "d_state", "d_head", "d_conv", "expand", "chunk_size"]
        .map((key) => `mamba_${key}`),
      "mamba_conv_bias",
      "mamba_proj_bias",
      "rms_norm_eps",
      "normalization_function",
      "init_method",
      "shared_intermediate_size",
    ],
    written: { ...LLAMA.config.written, num_local_experts: 0, num_experts_per_tok: 0 },
  },
};
