/** Ministral 3 (Mistral AI 2025): Mistral whose queries grow with the position. */
import type { Architecture } from "./architecture.ts";
import { MISTRAL } from "./llama.ts";

export const MINISTRAL3: Architecture = {
  ...MISTRAL,
  name: "ministral3",
  className: "Ministral3ForCausalLM",
  gguf: "mistral3",
  growingQueries: true,
  config: {
    ...MISTRAL.config,
    defaults: {
      maxPositions: 262_144,
      sizes: { headDim: 128, numKvHeads: 8 },
      rmsNormEps: 1e-5,
      tieWordEmbeddings: false,
      slidingWindow: null,
    },
    // A list of types would have no effect in transformers.
    others: MISTRAL.config.others.filter((key) => key !== "layer_types"),
  },
};
