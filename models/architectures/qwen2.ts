/** Qwen2 and Qwen2.5 (Yang et al. 2024): Llama with biases on queries, keys and values. */
import type { Architecture } from "./architecture.ts";
import { LLAMA } from "./llama.ts";

export const QWEN2: Architecture = {
  ...LLAMA,
  name: "qwen2",
  className: "Qwen2ForCausalLM",
  biases: ["q_proj", "k_proj", "v_proj"],
  biasKeys: {},
  window: "flagged",
};
