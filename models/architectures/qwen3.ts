/** Qwen3 (Yang et al. 2025): Llama with an RMSNorm on every query and key head. */
import type { Architecture } from "./architecture.ts";
import { LLAMA } from "./llama.ts";

export const QWEN3: Architecture = {
  ...LLAMA,
  name: "qwen3",
  className: "Qwen3ForCausalLM",
  biasKeys: { attention_bias: LLAMA.biasKeys["attention_bias"]! },
  headNorms: true,
  window: "flagged",
};
