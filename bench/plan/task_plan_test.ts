import assert from "node:assert/strict";
import { tinyRunConfig, withTempDir } from "../../training/testing.ts";
import { heldOutOnly, planTasks } from "./task_plan.ts";

Deno.test("a file with the name of a run's data that is gone is asked as that data", () =>
  withTempDir(async (folder) => {
    const rows = Array.from({ length: 60 }, (_, i) => `{"question": "${i} + 1 =", "answer": "1"}`);
    const path = `${folder}/sums.jsonl`;
    await Deno.writeTextFile(path, rows.join("\n"));
    const data = { task_name: null, dataset_name: "/nowhere/sums.jsonl" };
    const run = tinyRunConfig("", { data, eval: { num_examples: 5 } });
    const tasks = [{ name: "file", path, label: "sums" }];
    const asked = async (runs: Parameters<typeof planTasks>[2]) =>
      await planTasks({ tasks, numExamples: 100 }, 1, runs);
    const sets = await asked([run]);
    assert.ok(sets[0]!.entries.length < 30, "only what its training held out");
    assert.match(heldOutOnly(sets).join(), /a model was trained on it, so \d+ of its 60 questions/);
    assert.equal((await asked([]))[0]!.entries.length, 60);
    const other = { ...run, data: { ...run.data, dataset_name: "/nowhere/others.jsonl" } };
    assert.equal((await asked([other]))[0]!.entries.length, 60);
  }));
