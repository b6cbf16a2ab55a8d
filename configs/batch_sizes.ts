/**
 * The sizes of batches that follow from several keys of the sections `training` and `sft`.
 * Formulas: GRPOConfig and SFTConfig of TRL 1.16, for one process.
 */
import type { RunConfig } from "./schema/run_config.ts";

export interface BatchSizes {
  /** Micro-steps that a generation batch is split into. */
  stepsPerGeneration: number;
  generationBatchSize: number;
  promptsPerGeneration: number;
  completionsPerOptimizerStep: number;
  /** Completions of one problem in evaluation while training. */
  generationsInEval: number;
}

export type SizeKeys = Pick<
  RunConfig["training"],
  | "per_device_train_batch_size"
  | "gradient_accumulation_steps"
  | "generation_batch_size"
  | "steps_per_generation"
  | "num_generations"
  | "num_generations_eval"
>;

export function supervisedBatch(
  sft: Pick<
    NonNullable<RunConfig["sft"]>,
    "per_device_train_batch_size" | "gradient_accumulation_steps"
  >,
): number {
  return sft.per_device_train_batch_size * sft.gradient_accumulation_steps;
}

/** Micro-steps that train on one generation batch, before the next one is sampled. */
export function microStepsPerGeneration(
  training: SizeKeys & Pick<RunConfig["training"], "num_iterations">,
): number {
  return batchSizes(training).stepsPerGeneration * training.num_iterations;
}

export function batchSizes(training: SizeKeys): BatchSizes {
  const {
    per_device_train_batch_size: size,
    gradient_accumulation_steps: accumulation,
    num_generations: group,
  } = training;
  const stepsPerGeneration = training.generation_batch_size !== null
    ? training.generation_batch_size / size
    : training.steps_per_generation ?? accumulation;
  const generationBatchSize = size * stepsPerGeneration;
  return {
    stepsPerGeneration,
    generationBatchSize,
    promptsPerGeneration: generationBatchSize / group,
    completionsPerOptimizerStep: size * accumulation,
    generationsInEval: training.num_generations_eval ?? group,
  };
}
