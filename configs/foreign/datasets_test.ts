import assert from "node:assert/strict";
import { assertOneError, load } from "../testing.ts";

const START = "model: m\nrewards: [correctness]\n";
const FILES = { "m/config.json": "{}", "d.jsonl": "{}\n", "e.jsonl": "{}\n" };

Deno.test("TRL's list of data sets means the data set that it names", async () => {
  const read = async (yaml: string, overrides: string[] = []) => {
    const { config: { data }, notes } = await load(START + yaml, { overrides }, FILES);
    assert.equal(data.tasks, null);
    return [data.dataset_name, data.dataset_train_split, data.train_ratio, notes.length];
  };
  const one = "datasets:\n  - path: d.jsonl\n    split: train[:90%]\n";
  assert.deepEqual(await read(one), ["d.jsonl", "train[:90%]", null, 0]);
  const more = "test_split_size: 0.1\nstreaming: false\n";
  assert.deepEqual(await read(one + more), ["d.jsonl", "train[:90%]", 0.9, 0]);
  assert.deepEqual(
    await read("datasets: [{path: json, data_files: {train: d.jsonl}, columns: [prompt]}]\n"),
    ["d.jsonl", "train", null, 0],
  );
  // Several splits of one data set are read one after the other.
  const splits = "datasets: [{path: d.jsonl}, {path: d.jsonl, split: 'test[:5]'}]\n";
  assert.deepEqual(await read(splits), ["d.jsonl", "train+test[:5]", null, 0]);
  assert.deepEqual(await read("datasets: [{path: d.jsonl}]\n", ["--dataset_name", "e.jsonl"]), [
    "e.jsonl",
    "train",
    null,
    1,
  ]);
  const { config } = await load(`${START}datasets: [{path: hf://datasets/o/n, name: main}]\n`);
  assert.equal(config.data.dataset_name, "hf://datasets/o/n/main");
  const tasks = await load(`${START}datasets: [{task_name: chain_sum}]\ntest_split_size: 0.1\n`);
  assert.equal(tasks.config.data.tasks?.[0]?.task_name, "chain_sum");
  assert.match(tasks.notes[0]!, /test_split_size: .*no effect/);
});

Deno.test("a list of data sets that is not one data set is refused with its line", async () => {
  const refused: readonly [yaml: string, expected: RegExp][] = [
    ["datasets: [{path: d.jsonl}, {path: e.jsonl}]", /:3:29: datasets: 2 entries, .*join the/],
    ["datasets: [{path: d.jsonl}, {task_name: chain_sum}]", /:3:29: datasets\.1: path, .*missing/],
    ["datasets: [{path: d.jsonl}]\ndataset_name: e.jsonl", /give one of them/],
    ["datasets: [{path: d.jsonl, splt: a}]", /datasets\.0\.splt: unknown key splt \(known/],
    ["datasets: [{path: d.jsonl, data_dir: a}]", /data_dir: write the folder in path/],
    ["datasets: [{path: 3}]", /datasets\.0\.path: expected a text/],
    ["datasets: [{path: json}]", /json is a format: data_files names the file/],
    ["datasets: [{path: o/n, data_files: a.jsonl}]", /hf:\/\/datasets\/o\/n\/a\.jsonl, or/],
    ["datasets: [{path: json, data_files: [d.jsonl, e.jsonl]}]", /join the files/],
    ["datasets: [{path: d.jsonl}]\ntest_split_size: 2", /:4:18: test_split_size: expected a share/],
  ];
  await assertOneError(refused, START, FILES);
});
