/** SmolLM3 (Hugging Face 2025): Llama without rotation in every fourth layer. */
import type { Architecture } from "./architecture.ts";
import { LLAMA } from "./llama.ts";

const { rope_interleaved: _, ...neutral } = LLAMA.config.neutral;

export const SMOLLM3: Architecture = {
  ...LLAMA,
  name: "smollm3",
  className: "SmolLM3ForCausalLM",
  gguf: "smollm3",
  window: "typed",
  fullEvery: 1,
  unrotated: "listed",
  config: {
    ...LLAMA.config,
    defaults: {
      maxPositions: 32768,
      rmsNormEps: 1e-6,
      tieWordEmbeddings: true,
      ropeTheta: 2_000_000,
      slidingWindow: null,
    },
    // It would give the unrotated layers a window. No published model sets it.
    neutral: { ...neutral, use_sliding_window: [false] },
    others: [...LLAMA.config.others, "no_rope_layers", "no_rope_layer_interval"],
    written: { ...LLAMA.config.written, use_sliding_window: false },
  },
};
