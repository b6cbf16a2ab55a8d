/** Whether a run can have so many ranks, which is known from its configuration alone. */
import { batchSizes } from "../../configs/batch_sizes.ts";
import type { RunConfig } from "../../configs/schema/run_config.ts";
import { counted } from "../../core/counted.ts";
import { UsageError } from "../../core/errors.ts";

/** @throws UsageError for more ranks than prompts, and for settings of one rank */
export function checkRankCount(
  { training, generation }: Pick<RunConfig, "training" | "generation">,
  ranks: number,
): void {
  if (ranks === 1) return;
  const { backend } = generation, { promptsPerGeneration: prompts } = batchSizes(training);
  if (backend !== "in_process") {
    throw new UsageError(
      `generation.backend: ${backend} is for one rank, and this run has ${ranks}`,
      { advice: "Let the ranks generate (generation.backend=in_process), or start one rank." },
    );
  }
  if (training.use_rollout_activations) {
    throw new UsageError(
      `training.use_rollout_activations is for one rank, and this run has ${ranks}: completions ` +
        "are trained on by other ranks than those that sampled them",
      { advice: "Set training.use_rollout_activations=false, or start one rank." },
    );
  }
  if (prompts >= ranks) return;
  const { gradient_accumulation_steps: steps } = training;
  const isFree = training.generation_batch_size === null && training.steps_per_generation === null;
  const raised = Math.ceil(steps * ranks / prompts);
  throw new UsageError(
    `${ranks} ranks share ${prompts} prompts: ${ranks - prompts} would have nothing to generate`,
    {
      advice: `Start ${prompts} rank${prompts === 1 ? "" : "s"}, or raise the batch` +
        (isFree
          ? `: training.gradient_accumulation_steps=${raised} gives every rank a prompt`
          : "") +
        ` (a generation batch has per_device_train_batch_size × steps_per_generation ` +
        "completions, in groups of num_generations).",
    },
  );
}

/** What leaves ranks idle for a part of each step, and what to set. @param phases of the run */
export function idleRanks(
  { training, sft }: Pick<RunConfig, "training" | "sft">,
  ranks: number,
  phases: "all" | "sft" = "all",
): string[] {
  const micro = ["micro-batch", "micro-batches"] as const, key = "gradient_accumulation_steps";
  const shared: [step: string, what: readonly [string, string], count: number, keys: string][] = [];
  if (phases === "all") {
    const { promptsPerGeneration: prompts } = batchSizes(training);
    const keys = "the number of prompts (generation_batch_size / num_generations)";
    shared.push(["a step", ["prompt", "prompts"], prompts, keys]);
    shared.push(["a step", micro, training[key], `training.${key}`]);
  }
  if (sft !== null) shared.push(["a supervised step", micro, sft[key], `sft.${key}`]);
  return shared.filter(([, , count]) => count % ranks !== 0).map(([step, what, count, keys]) => {
    const busy = (100 * count / (Math.ceil(count / ranks) * ranks)).toFixed(0);
    return `${step} has ${counted(count, ...what)} for ${ranks} ranks, so ranks are busy ${busy} ` +
      `% of that time: make ${keys} a multiple of ${ranks}`;
  });
}
