/** The memory of the activations that sampling keeps for the training pass. */
import { microStepsPerGeneration } from "../../configs/batch_sizes.ts";
import type { RunConfig } from "../../configs/schema/run_config.ts";
import { planStoreBytes } from "../../models/network/activation_store.ts";
import type { ModelSizes } from "../../models/network/weights/model_sizes.ts";

/** Which steps train on them: none, the first one on each generation, or each step. */
export type KeptFor = "none" | "first step" | "each step";

export function keptFor(training: RunConfig["training"]): KeptFor {
  if (!training.use_rollout_activations) return "none";
  const perGeneration = microStepsPerGeneration(training);
  return perGeneration === training.gradient_accumulation_steps ? "each step" : "first step";
}

interface KeptSize {
  kept: KeptFor;
  /** Completions of a generation, and of each prompt. */
  generated: number;
  group: number;
  /** Maximum tokens of a prompt and of a completion. */
  prompt: number;
  completion: number;
}

/** Bytes of what is kept of a generation. */
export function keptBytes(
  { config, floatBytes }: ModelSizes,
  { kept, generated, group, prompt, completion }: KeptSize,
): number {
  if (kept === "none") return 0;
  const rows = Math.ceil(generated / group) * prompt + generated * completion;
  return planStoreBytes(config, rows, floatBytes);
}
