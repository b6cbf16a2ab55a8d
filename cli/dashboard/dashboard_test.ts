/** The folders that `rgx dashboard` shows when none is named. */
import assert from "node:assert/strict";
import { test } from "../../core/testing.ts";
import { usualFolders } from "./dashboard.ts";

test.inFolder("without a name the usual folders are shown, other projects' results are not", async (place) => {
  assert.deepEqual(await usualFolders(place), [place]);
  for (const name of ["benchmark_results", "results", "trl_grpo_outputs"]) {
    await Deno.mkdir(`${place}/${name}`);
  }
  await Deno.writeTextFile(`${place}/results/notes.txt`, "");
  assert.deepEqual(await usualFolders(place), [`${place}/benchmark_results`]);
  await Deno.writeTextFile(`${place}/trl_grpo_outputs/metrics.jsonl`, "");
  await Deno.writeTextFile(`${place}/results/results_all_tasks_20260102_030405.json`, "{}");
  assert.deepEqual(
    await usualFolders(place),
    ["benchmark_results", "trl_grpo_outputs", "results"].map((name) => `${place}/${name}`),
  );
});
