/**
 * Scores of completions by task, for runs on several tasks and for the curriculum.
 */
import { CORRECT, scoreCompletion } from "../../data/score_completion.ts";
import type { Metrics } from "../metrics/metrics.ts";
import { promptOf, type Rollout } from "./rollout.ts";
import "../../tasks/registry.ts"; // the tasks whose rules score

export interface TaskScore {
  task: string;
  /** The score of the task, in [0, 1]; partial credit counts. */
  score: number;
  /** Weighted sum of its rewards; not set where only the score counts. */
  reward?: number;
}

/** @param weights weights of the rewards. [K] */
export function rolloutScores(rollout: Rollout, weights: readonly number[]): TaskScore[] {
  return rollout.rows.map((row) => {
    const { group, text, rewards } = row, { entry } = rollout.groups[group]!;
    const prompt = promptOf(rollout, row);
    return {
      task: String(entry.metadata["source_dataset"]),
      score: scoreCompletion(text, entry, null, prompt.text).score,
      reward: rewards.reduce<number>((sum, reward, k) => sum + weights[k]! * (reward ?? 0), 0),
    };
  });
}

/** `tasks/{task}/…`: means of accuracy, score and (where known) reward; completions. */
export function taskMetrics(scores: readonly TaskScore[]): Metrics {
  const metrics: Metrics = {};
  const tasks = [...new Set(scores.map(({ task }) => task))].sort();
  for (const task of tasks) {
    const ofTask = scores.filter((score) => score.task === task);
    const mean = (value: (score: TaskScore) => number) =>
      ofTask.reduce((sum, score) => sum + value(score), 0) / ofTask.length;
    metrics[`tasks/${task}/accuracy`] = mean(({ score }) => score >= CORRECT ? 1 : 0);
    metrics[`tasks/${task}/score`] = mean(({ score }) => score);
    if (ofTask[0]!.reward !== undefined) metrics[`tasks/${task}/reward`] = mean((s) => s.reward!);
    metrics[`tasks/${task}/completions`] = ofTask.length;
  }
  return metrics;
}
