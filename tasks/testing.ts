/** For tests only: the tasks that tests over the whole registry look at, and entries of one. */
import { createDataset, type DatasetOptions } from "./dataset.ts";
import { getTask, taskNames } from "./registry.ts";
import type { Entry } from "./types.ts";

/**
 * All tasks that generate problems themselves (a task made of others has its own tests), or the
 * tasks that `RGX_TEST_TASKS=a,b` names.
 */
export function testedTasks(): string[] {
  const asked = Deno.env.get("RGX_TEST_TASKS");
  if (asked === undefined) return taskNames().filter((name) => getTask(name).open === undefined);
  return asked.split(",").map((name) => getTask(name).name);
}

/** The entries of a task for each of the configurations, which go before what is `common`. */
export function entriesOf(
  name: string,
  configs: readonly DatasetOptions[] = [{}],
  common: DatasetOptions = { seed: 8, size: 80 },
): Entry[] {
  return configs.flatMap((config) => [...createDataset(name, { ...common, ...config })]);
}
