/** The metric that says which checkpoint is best, as in transformers' TrainingArguments. */
import type { RunConfig } from "./schema/run_config.ts";

export interface BestMetric {
  /** The metric's name in metrics.jsonl, including the prefix `eval_`. */
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
