/** Tasks with other parameters than in the training of a checkpoint. */
import assert from "node:assert/strict";
import { tinyRunConfig } from "../../training/testing.ts";
import { createTestSet } from "./test_set.ts";
import { trainedOtherwise } from "../benchmark.ts";

Deno.test("a note names both settings when a checkpoint's task has other parameters", () => {
  const run = tinyRunConfig("out"), sizes = { seed: 1, size: 1, fewShot: 0 };
  const set = (parameters: Record<string, unknown>) =>
    createTestSet({ name: "spell_backward", parameters }, sizes);
  const notesFor = (sets: Parameters<typeof trainedOtherwise>[1], of = run) =>
    trainedOtherwise([{ name: "mine", run: of }, { name: "base", run: null }], sets);
  const own = { min_word_len: 3, max_word_len: 4 };
  const other = createTestSet({ name: "chain_sum" }, sizes);
  assert.deepEqual(notesFor([set(own), other]), []);
  assert.deepEqual(notesFor([set({ ...own, max_word_len: 6 }), other]), [
    "mine was trained on spell_backward with max_word_len=4, and asked with max_word_len=6",
  ]);
  const models = ["a", "b", "c"].map((name) => ({ name, run }));
  const line =
    /^a and 2 more models were trained on spell_backward with .*=4, and asked with .*=6$/;
  const lines = trainedOtherwise(models, [set({ ...own, max_word_len: 6 })]);
  assert.equal(lines.length, 1);
  assert.match(lines[0]!, line);
  const task = { task_name: "spell_backward", weight: 1, config: own };
  const mixed = { ...run, data: { ...run.data, task_name: null, tasks: [task] } };
  assert.equal(notesFor([set({})], mixed).length, 1);
  assert.deepEqual(notesFor([set(own)], mixed), []);
  const longer = { ...task, config: { ...own, max_word_len: 6 } };
  const both = { ...run, data: { ...run.data, task_name: null, tasks: [task, longer] } };
  assert.deepEqual(notesFor([set(own), set(longer.config)], both), [], "one of its ways matches");
  assert.equal(
    notesFor([set({ ...own, max_word_len: 5 })], both).length,
    2,
    "notesFor with each of them",
  );
  // A file has no parameters, even under the name of a task of the run.
  const file = { ...run, data: { ...run.data, task_name: "gsm8k", task_config: {} } };
  const columns = { question: "1 + 1", answer: "#### 2" };
  const rows = [{ columns, place: "f:1" }];
  const gsm8k = createTestSet({ name: "gsm8k", path: "f" }, { ...sizes, rows });
  assert.deepEqual(notesFor([gsm8k], file), []);
});
