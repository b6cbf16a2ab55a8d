/** Scores by task, for runs on several tasks and for the curriculum. */
import { scoreCompletion } from "../../data/score.ts";
import { CORRECT } from "../../data/score.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { Rollout } from "./rollout.ts";

/** One completion. */
export interface TaskScore {
  /** The task that its problem comes from. */
  task: string;
  /** By the rule of the task, partial credit included, in [0, 1]. */
  score: number;
  /** Weighted sum of its rewards; left out where only the score counts. */
  reward?: number;
}

/** @param weights of the rewards, [K] */
export function rolloutScores(rollout: Rollout, weights: readonly number[]): TaskScore[] {
  return rollout.rows.map(({ group, text, rewards }) => {
    const { entry } = rollout.groups[group]!;
    return {
      task: String(entry.metadata["source_dataset"]),
      score: scoreCompletion(text, entry).score,
      reward: rewards.reduce<number>((sum, reward, k) => sum + weights[k]! * (reward ?? 0), 0),
    };
  });
}

/**
 * `tasks/{task}/…`: accuracy, score and (where known) reward as means, and how many completions
 * there were.
 */
export function taskMetrics(scores: readonly TaskScore[]): Metrics {
  const metrics: Metrics = {};
  const tasks = [...new Set(scores.map(({ task }) => task))].sort();
  for (const task of tasks) {
    const own = scores.filter((score) => score.task === task);
    const mean = (value: (score: TaskScore) => number) =>
      own.reduce((sum, score) => sum + value(score), 0) / own.length;
    metrics[`tasks/${task}/accuracy`] = mean(({ score }) => score >= CORRECT ? 1 : 0);
    metrics[`tasks/${task}/score`] = mean(({ score }) => score);
    if (own[0]!.reward !== undefined) metrics[`tasks/${task}/reward`] = mean((s) => s.reward!);
    metrics[`tasks/${task}/completions`] = own.length;
  }
  return metrics;
}
