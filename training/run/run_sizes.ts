/** The sizes of a run: batches, steps and the schedule of micro-batches, from its configuration. */
import { batchSizes, supervisedBatch } from "../../configs/batch_sizes.ts";
import type { RunConfig } from "../../configs/schema/run_config.ts";
import { UsageError } from "../../core/errors.ts";
import { MicroSchedule } from "../step/micro_schedule.ts";

export interface RunSizes {
  warmStartSteps: number;
  /** Completions of a generation batch, before dynamic sampling. */
  rowsPerGeneration: number;
  promptsPerGeneration: number;
  /** Completions of an optimizer step; the last one of an epoch may have fewer. */
  rowsPerStep: number;
  schedule: MicroSchedule;
  totalSteps: number;
  trainProblems: number;
}

/** @param phases "sft": GRPO does not run @throws UsageError when the sizes do not fit together */
export function runSizes(
  config: RunConfig,
  trainProblems: number,
  phases: "all" | "sft" = "all",
): RunSizes {
  const { sft } = config, training = phases === "all" ? config.training : withoutGroups(config);
  const sizes = batchSizes(training), { generationBatchSize: rowsPerGeneration } = sizes;
  if (rowsPerGeneration % training.num_generations !== 0) {
    throw new UsageError(
      `training: ${rowsPerGeneration} completions are generated at a time, which ` +
        `num_generations = ${training.num_generations} does not divide`,
      {
        advice: "Make per_device_train_batch_size × steps_per_generation " +
          "(or gradient_accumulation_steps) a multiple of num_generations.",
      },
    );
  }
  if (!Number.isInteger(sizes.stepsPerGeneration)) {
    throw new UsageError(
      `training: generation_batch_size = ${rowsPerGeneration} is no multiple of ` +
        `per_device_train_batch_size = ${training.per_device_train_batch_size}`,
    );
  }
  const { promptsPerGeneration } = sizes;
  const schedule = new MicroSchedule({
    accumulation: training.gradient_accumulation_steps,
    stepsPerGeneration: sizes.stepsPerGeneration,
    iterations: training.num_iterations,
    generationsPerEpoch: Math.floor(trainProblems / promptsPerGeneration),
  });
  return {
    warmStartSteps: config.dpo === null
      ? sft?.max_steps ?? 0
      : preferenceSteps(config, trainProblems),
    rowsPerGeneration,
    promptsPerGeneration,
    rowsPerStep: sizes.completionsPerOptimizerStep,
    schedule,
    totalSteps: training.max_steps > 0
      ? training.max_steps
      : Math.ceil(training.num_train_epochs * schedule.stepsPerEpoch),
    trainProblems,
  };
}

/** Steps of a run on preferences: `max_steps`, or those of its epochs. */
function preferenceSteps({ training, sft }: RunConfig, rows: number): number {
  const batch = supervisedBatch(sft!), perEpoch = Math.floor(rows / batch);
  if (perEpoch === 0) {
    throw new UsageError(`training: a step takes ${batch} pairs, the data has ${rows}`, {
      advice:
        "Lower per_device_train_batch_size or gradient_accumulation_steps, or have more rows.",
    });
  }
  return training.max_steps > 0
    ? training.max_steps
    : Math.ceil(training.num_train_epochs * perEpoch);
}

/** Sizes that always fit together, for a run without GRPO. */
function withoutGroups({ training }: RunConfig): RunConfig["training"] {
  return {
    ...training,
    generation_batch_size: null,
    steps_per_generation: null,
    gradient_accumulation_steps: 1,
    per_device_train_batch_size: training.num_generations,
  };
}
