/**
 * The average accuracy over tasks, each of which counts the same, and its 95 % interval. The
 * interval comes from those of the tasks by the method of variance estimates recovery (Zou and
 * Donner 2008), which also gives Newcombe's interval of a difference. It keeps its width at 0 % and
 * 100 %, where standard errors vanish. The tasks' results are taken as independent. The interval
 * does not include the choice of the tasks.
 */
import type { Interval } from "./result_file.ts";

/** Without tasks, the accuracy is NaN and the interval [0, 1]. */
export function averageAccuracy(
  tasks: readonly { accuracy: number; ci95: Interval }[],
): { accuracy: number; ci95: Interval } {
  const n = tasks.length;
  if (n === 0) return { accuracy: NaN, ci95: [0, 1] };
  let sum = 0, below = 0, above = 0;
  for (const { accuracy, ci95: [low, high] } of tasks) {
    sum += accuracy;
    below += (accuracy - low) ** 2;
    above += (high - accuracy) ** 2;
  }
  const accuracy = sum / n;
  return {
    accuracy,
    ci95: [
      Math.max(0, accuracy - Math.sqrt(below) / n),
      Math.min(1, accuracy + Math.sqrt(above) / n),
    ],
  };
}
