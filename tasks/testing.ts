/** For tests only: the tasks that tests over the whole registry look at. */
import { getTask, taskNames } from "./registry.ts";

/**
 * All tasks that generate problems themselves (a task made of others has its own tests), or the
 * tasks that `RGX_TEST_TASKS=a,b` names.
 */
export function testedTasks(): string[] {
  const asked = Deno.env.get("RGX_TEST_TASKS");
  if (asked === undefined) return taskNames().filter((name) => getTask(name).open === undefined);
  return asked.split(",").map((name) => getTask(name).name);
}
