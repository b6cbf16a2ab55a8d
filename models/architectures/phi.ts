/**
 * Phi-3 and Phi-4-mini (Microsoft 2024 and 2025): one module computes queries, keys and values,
 * another both inputs of the MLP, and a part of each head is rotated.
 */
import type { Architecture } from "./architecture.ts";
import { MISTRAL } from "./llama.ts";

const { q: _, k: _2, v: _3, gate: _4, up: _5, ...inLayer } = MISTRAL.inLayer;
const { partial_rotary_factor: _6, ...neutral } = MISTRAL.config.neutral;

export const PHI3: Architecture = {
  ...MISTRAL,
  name: "phi3",
  className: "Phi3ForCausalLM",
  gguf: "phi3",
  loraTargets: ["qkv_proj", "o_proj", "gate_up_proj", "down_proj"],
  interleavedInGguf: false,
  partialRotary: true,
  inLayer: { ...inLayer, qkv: "self_attn.qkv_proj", gateUp: "mlp.gate_up_proj" },
  config: {
    ...MISTRAL.config,
    defaults: {
      maxPositions: 4096,
      rmsNormEps: 1e-5,
      tieWordEmbeddings: false,
      slidingWindow: null,
      trainedPositions: 4096,
    },
    neutral,
    // Dropout is for training from scratch.
    others: [
      ...MISTRAL.config.others.filter((key) => key !== "layer_types"),
      "partial_rotary_factor",
      "resid_pdrop",
      "embd_pdrop",
    ],
  },
};
