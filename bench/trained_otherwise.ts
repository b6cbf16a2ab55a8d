/**
 * Whether a checkpoint is asked a task with other parameters than those that its run trained it with. That may be
 * what is wanted; not to know it is not.
 */
import type { RunConfig } from "../configs/run_config.ts";
import { resolveTaskConfig } from "../tasks/registry.ts";
import type { TestSet } from "./types.ts";

/** A line for each model and task where it is so, whichever of the run's ways is taken; none where levels moved. */
export function trainedOtherwise(
  models: readonly { name: string; run: RunConfig | null }[],
  sets: readonly TestSet[],
): string[] {
  return models.flatMap(({ name, run }) => {
    if (run === null || run.curriculum !== null) return [];
    const { tasks, task_name, task_config } = run.data;
    const own = tasks ?? (task_name === null ? [] : [{ task_name, config: task_config }]);
    return sets.flatMap((set) => {
      const ways = own.filter(({ task_name }) => task_name === set.taskName)
        .map(({ config }) => difference(name, set, config));
      const others = ways.filter((way) => way !== null);
      return others.length < ways.length ? [] : others;
    });
  });
}

function difference(
  model: string,
  { label, taskName, parameters }: TestSet,
  config: Readonly<Record<string, unknown>>,
): string | null {
  const trained = resolveTaskConfig(taskName, config);
  const asked = resolveTaskConfig(taskName, parameters);
  const changed = Object.keys(trained).filter((key) =>
    JSON.stringify(trained[key]) !== JSON.stringify(asked[key])
  );
  if (changed.length === 0) return null;
  const list = (values: Readonly<Record<string, unknown>>) =>
    changed.map((key) => `${key}=${JSON.stringify(values[key])}`).join(", ");
  return `${model} was trained on ${label} with ${list(trained)}, and is asked with ${list(asked)}`;
}
