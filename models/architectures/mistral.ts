/**
 * Mistral 7B (Jiang et al. 2023): Llama with attention to the last `sliding_window` positions only.
 */
import type { Architecture } from "./architecture.ts";
import { LLAMA } from "./llama.ts";

export const MISTRAL: Architecture = {
  ...LLAMA,
  name: "mistral",
  className: "MistralForCausalLM",
  biasKeys: {},
  window: "always",
};
