/**
 * Task weights that the calling program changed during training. A checkpoint holds them, so that
 * a resumed run draws problems with the same weights.
 */
import type { RunConfig } from "../../configs/schema/run_config.ts";
import type { ProblemSource } from "../../data/problem_source.ts";

/** Task → weight, for tasks whose weight is not the configured one; null if there are none. */
export function changedWeights(
  { mix }: ProblemSource,
  { tasks }: RunConfig["data"],
): Record<string, number> | null {
  const configured = new Map(tasks?.map(({ task_name, weight }) => [task_name, weight]));
  const changed =
    mix?.parts.filter(({ name, weight }) =>
      configured.has(name) && configured.get(name) !== weight
    ) ?? [];
  if (changed.length === 0) return null;
  return Object.fromEntries(changed.map(({ name, weight }) => [name, weight]));
}

/** Sets the weights again. Unknown tasks are ignored. */
export function restoreTaskWeights(
  { mix }: ProblemSource,
  weights: Record<string, number>,
): void {
  const names = new Set(mix?.parts.map(({ name }) => name));
  // The largest first, since a mixture whose weights are all 0 is refused.
  for (const [name, weight] of Object.entries(weights).sort(([, a], [, b]) => b - a)) {
    if (names.has(name)) mix!.updateWeight(name, weight);
  }
}
