/**
 * Notes for checkpoints that are asked a task with other parameters than in training. That may be
 * intended, but a user should know it.
 */
import type { RunConfig } from "../../configs/schema/run_config.ts";
import { hasTask, resolveTaskConfig } from "../../tasks/registry.ts";
import type { TestSet } from "./test_set.ts";

/**
 * A note for each task whose parameters are not among those that the run trained with. Models with
 * the same note share it; runs with a curriculum get none, since their levels move.
 */
export function trainedOtherwise(
  models: readonly { name: string; run: RunConfig | null }[],
  sets: readonly TestSet[],
): string[] {
  const namesOf = new Map<string, string[]>();
  for (const { name, run } of models) {
    for (const note of differencesOf(run, sets)) {
      namesOf.set(note, [...namesOf.get(note) ?? [], name]);
    }
  }
  return [...namesOf].map(([note, [first, ...more]]) => {
    const others = more.length === 1 ? "1 more model" : `${more.length} more models`;
    return `${first} ${more.length === 0 ? "was" : `and ${others} were`} ${note}`;
  });
}

function differencesOf(run: RunConfig | null, sets: readonly TestSet[]): string[] {
  if (run === null || run.curriculum !== null) return [];
  const { tasks, task_name, task_config } = run.data;
  const trained = tasks ?? (task_name === null ? [] : [{ task_name, config: task_config }]);
  // Problems of a file have no parameters.
  return sets.filter(({ taskName }) => hasTask(taskName)).flatMap((set) => {
    const ways = trained.filter(({ task_name }) => task_name === set.taskName)
      .map(({ config }) => difference(set, config));
    const others = ways.filter((way) => way !== null);
    return others.length < ways.length ? [] : others;
  });
}

function difference(
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
  return `trained on ${label} with ${list(trained)}, and asked with ${list(asked)}`;
}
