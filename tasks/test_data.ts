/** For tests only: the recorded behaviour of reasoning-gym in the shared folder, and how to go without. */
import { existsSync } from "node:fs";
import { getTask, taskNames } from "./registry.ts";

const SHARED = new URL("../../shared/", import.meta.url);

/** False (with a warning once a test file) where the shared folder is not there. */
export const haveShared = existsSync(new URL("golden/", SHARED));
if (!haveShared) console.warn("tests with recorded data are ignored: no ../shared/golden");

export function exists(path: string): boolean {
  return existsSync(new URL(path, SHARED));
}

export function readText(path: string): string {
  return Deno.readTextFileSync(new URL(path, SHARED));
}

export function readJson<T>(path: string): T {
  return JSON.parse(readText(path));
}

export function readJsonLines<T>(path: string): T[] {
  const text = readText(path);
  return text.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
}

/**
 * The tasks that the tests over the registry look at: all that generate (a task made of others has tests of its
 * own), or those that `RGX_TEST_TASKS=a,b` names.
 */
export function testedTasks(): string[] {
  const asked = Deno.env.get("RGX_TEST_TASKS");
  if (asked === undefined) return taskNames().filter((name) => getTask(name).open === undefined);
  return asked.split(",").map((name) => getTask(name).name);
}
