import assert from "node:assert/strict";
import { test } from "../../../core/testing.ts";
import { UsageError } from "../../../core/errors.ts";
import { writeResults, writeRun } from "../testing.ts";
import { checkFolders, findRuns } from "./find_runs.ts";

test.inFolder("runs and results are found in sub-folders, checkpoints are no runs", async (folder) => {
  await writeRun(`${folder}/a/one`, 1);
  await writeRun(`${folder}/b/one`, 1, { "metrics.jsonl": null });
  await writeRun(`${folder}/a/one/checkpoint-1`, 1);
  await writeRun(`${folder}/wandb/x`, 1);
  await writeResults(`${folder}/results`);
  const { runs, benchmarks } = await findRuns([`${folder}/`]);
  assert.deepEqual(runs.map(({ name }) => name), ["a/one", "b/one"]);
  assert.equal(new Set(runs.map(({ id }) => id)).size, 2);
  assert.match(benchmarks[0]!.path, /results\/results_spell_backward_/);
  assert.deepEqual((await findRuns([`${folder}/a/one`, folder])).runs.length, 2);
  await checkFolders([folder, `${folder}/a/one`, `${folder}/results`]);
});

test.inFolder("a folder that is no run is refused; an empty one is waited for", async (folder) => {
  await checkFolders([folder]);
  await Deno.writeTextFile(`${folder}/notes.txt`, "");
  const refused = (path: string, says: RegExp) =>
    assert.rejects(checkFolders([path]), (error: Error) => {
      assert.ok(error instanceof UsageError);
      assert.match(error.message, says);
      return true;
    });
  await refused(folder, /no run and no benchmark results in this folder/);
  await refused(`${folder}/notes.txt`, /notes\.txt: a file/);
  await refused(`${folder}/missing`, /there is no such folder/);
});
