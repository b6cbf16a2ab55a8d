/**
 * The names of the metrics of an evaluation while training (TRL's and rgx's), without `eval_`, and
 * the metric that says which checkpoint is best, as in transformers' TrainingArguments.
 */
import { metricName } from "../../rewards/registry.ts";
import type { RunConfig } from "./run_config.ts";

const ACCURACY = ["accuracy", "correct", "mean_score", "format_rate"];

const ALWAYS = [
  "loss",
  "reward",
  "reward_std",
  "frac_reward_zero_std",
  "entropy",
  "completions/mean_length",
  "completions/min_length",
  "completions/max_length",
  "completions/clipped_ratio",
  "completions/mean_terminated_length",
  "completions/min_terminated_length",
  "completions/max_terminated_length",
  ...ACCURACY,
];

export function rewardMetrics(rewards: RunConfig["rewards"]): string[] {
  return rewards.map(({ name, as, file }) => as ?? (file === undefined ? metricName(name) : name));
}

export function evalMetricNames(config: Pick<RunConfig, "rewards" | "training">): string[] {
  const rewards = rewardMetrics(config.rewards)
    .flatMap((name) => [`rewards/${name}/mean`, `rewards/${name}/std`]);
  return [...ALWAYS, ...config.training.beta > 0 ? ["kl"] : [], ...rewards];
}

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
