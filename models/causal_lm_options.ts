/** What a causal model is made with, besides its configuration and its weights. */
import type { LoraOptions } from "./network/adapters/lora.ts";
import type { LoadListener } from "./network/weights/load_weights.ts";
import type { StorageOptions } from "./network/weights/weight_storage.ts";

/** How a model is held, and what of it is trained. */
export interface CausalLMOptions {
  /**
   * LoRA adapters. Required for `trainable: "lora"`, refused for "full", frozen but active for
   * "none".
   */
  lora?: LoraOptions;
  trainable: "lora" | "full" | "none";
  /** Keep only the inputs of the layers for the backward and recompute the rest. Default false. */
  recompute?: boolean;
  /** How frozen weights are stored. Default: in the type of their file, or float without a file. */
  weights?: StorageOptions;
  /** Called while the base's weights are loaded. */
  onLoad?: LoadListener;
}
