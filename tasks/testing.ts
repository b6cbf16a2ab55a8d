/**
 * For tests only: the tasks that tests over the whole registry look at, entries of one, and what
 * the tests of several tasks read in questions.
 */
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

/** The rows of a text that consist of cells with spaces between them. */
export function rowsIn(text: string, cell: RegExp): string[][] {
  const row = new RegExp(`^${cell.source}( ${cell.source})+$`);
  return text.split("\n").filter((line) => row.test(line)).map((line) => line.split(" "));
}

/** The rows of numbers in a text. */
export function numbersIn(text: string): number[][] {
  return rowsIn(text, /-?[\d.]+/).map((row) => row.map(Number));
}

/** The steps to each cell from the nearest start over free cells, found by repeated relaxation. */
export function distances<T>(
  grid: readonly (readonly T[])[],
  isStart: (cell: T) => boolean,
  isFree: (cell: T) => boolean,
): number[][] {
  const steps = grid.map((row) => row.map((cell) => isStart(cell) ? 0 : Infinity));
  for (let changed = true; changed;) {
    changed = false;
    grid.forEach((row, r) =>
      row.forEach((cell, c) => {
        const around = [steps[r - 1]?.[c], steps[r + 1]?.[c], steps[r]![c - 1], steps[r]![c + 1]];
        const best = 1 + Math.min(...around.map((value) => value ?? Infinity));
        if (!isFree(cell) || best >= steps[r]![c]!) return;
        steps[r]![c] = best;
        changed = true;
      })
    );
  }
  return steps;
}
