import assert from "node:assert/strict";
import { allTasksFile } from "../../bench/results/testing.ts";
import { test } from "../../core/testing.ts";
import { writeCharts } from "./plot_results.ts";

test.inFolder("a benchmark writes a picture of each task and one of all tasks", async (folder) => {
  const counts = { base: 5, tuned: 25 };
  const paths = await writeCharts(folder, allTasksFile({ "a/b": counts, c: counts }));
  assert.deepEqual(paths.map((path) => path.slice(folder.length + 1)), [
    "comparison_a_b_20260102_030405.png",
    "comparison_c_20260102_030405.png",
    "summary_all_tasks_20260102_030405.png",
  ]);
  for (const path of paths) assert.ok((await Deno.stat(path)).size > 10_000);
  assert.deepEqual(await writeCharts(folder, allTasksFile({ c: {} })), []);
  assert.equal([...Deno.readDirSync(folder)].length, 3);
});
