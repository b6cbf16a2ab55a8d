/**
 * What follows from several keys of a valid configuration: sizes of batches, intervals in whole steps, the
 * metric of the best checkpoint. Formulas: TRL 1.16's GRPOConfig and transformers' TrainingArguments, for
 * one process.
 */
import type { RunConfig } from "./schema/run_config.ts";

export interface BatchSizes {
  /** Micro-steps that a generation batch is cut into (SPG). */
  stepsPerGeneration: number;
  /** Completions generated at a time. */
  generationBatchSize: number;
  promptsPerGeneration: number;
  completionsPerOptimizerStep: number;
  /** G in evaluation while training. */
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

/** `logging_steps`, `eval_steps`, `save_steps` in whole steps: a value < 1 is a share of all steps. */
export function stepInterval(value: number, totalSteps: number): number {
  return value < 1 ? Math.max(1, Math.ceil(value * totalSteps)) : value;
}

export interface BestMetric {
  /** As in metrics.jsonl, with `eval_`. */
  name: string;
  greaterIsBetter: boolean;
}

export function bestMetric(
  training: Pick<RunConfig["training"], "metric_for_best_model" | "greater_is_better">,
): BestMetric {
  const written = training.metric_for_best_model ?? "accuracy";
  const name = written.startsWith("eval_") ? written : `eval_${written}`;
  return { name, greaterIsBetter: training.greater_is_better ?? !name.endsWith("loss") };
}
