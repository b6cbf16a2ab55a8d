import assert from "node:assert/strict";
import { assertErrors, load } from "../testing.ts";

const START = "model: m\nrewards: [correctness]\n";
const ROW = '{"question": "a", "answer": "1"}\n';
const FILES = { "sums/easy/train.jsonl": ROW, "sums/hard/train.jsonl": ROW, "p.jsonl": ROW };

Deno.test("dataset_config names a folder of the data set", async () => {
  const nameOf = async (yaml: string, overrides: string[] = []) => {
    const { config, notes, yaml: resolved } = await load(START + yaml, { overrides }, FILES);
    assert.deepEqual(notes, []);
    assert.ok(!resolved.includes("dataset_config"));
    return config.data.dataset_name;
  };
  assert.equal(await nameOf("dataset_name: sums\ndataset_config: hard\n"), "sums/hard");
  assert.equal(
    await nameOf("data: {dataset_name: ./sums/, dataset_config: easy}\n"),
    "./sums/easy",
  );
  assert.equal(await nameOf("dataset_name: sums\n", ["--dataset-config", "hard"]), "sums/hard");
  assert.equal(await nameOf("dataset_name: p.jsonl\ndataset_config: null\n"), "p.jsonl");
});

/** YAML after START, and deeper its error. */
const REFUSED = String.raw`
dataset_name: sums\ndataset_config: hrd
  f.yaml:4:17: data.dataset_config: hrd: no such configuration of /…/sums. A configuration is a
    folder with data files (its folders: easy, hard), did you mean hard?
dataset_name: p.jsonl\ndataset_config: main
  f.yaml:4:17: data.dataset_config: main: /…/p.jsonl has no configurations. A folder has them, or
    a data set of the Hub: leave the key out.
task_name: chain_sum\ndataset_config: main
  f.yaml:4:17: data.dataset_config: needs the data set that has it: data.dataset_name
`;

Deno.test("a configuration that is not there is refused where it stands", () =>
  assertErrors(REFUSED, START, FILES));
