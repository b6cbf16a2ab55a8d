/**
 * Problems from files or from the Hub, and the held-out problems that only evaluations use.
 *
 * ```ts
 * import assert from "node:assert/strict";
 * import { openProblems, readEntries, splitProblems } from "@rgx/rgx";
 * const path = await Deno.makeTempFile({ suffix: ".jsonl" });
 * const rows = Array.from({ length: 50 }, (_, i) => ({ question: `${i}+1=`, answer: `${i + 1}` }));
 * await Deno.writeTextFile(path, rows.map((row) => JSON.stringify(row)).join("\n"));
 * assert.equal((await readEntries(path)).length, 50);
 *
 * const options = { task_name: null, dataset_name: path, task_config: {} };
 * const source = await openProblems({ ...options, seed: 1, num_examples: 100 });
 * const { heldOut, trainEntry } = splitProblems({ source, heldOutCount: 3 });
 * assert.ok(heldOut.every(({ question }) => question !== trainEntry(0).question));
 * await Deno.remove(path);
 * ```
 * @module
 */
export { openProblems, readEntries } from "../data/open_problems.ts";
export type { ProblemSource, SourceFile } from "../data/problem_source.ts";
export type { SourceOptions } from "../data/open_source.ts";
export type { FileSourceOptions } from "../data/file_source.ts";
export type { SplitSizes } from "../data/split_sizes.ts";
export type { DataSplit } from "../hub/data_files.ts";
export type { StartingLevels, TaskShare } from "../data/task_source.ts";
export { type HeldOutOptions, type SplitProblems, splitProblems } from "../data/held_out.ts";
