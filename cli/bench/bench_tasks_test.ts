/** Tasks on the command line: which requests they become, and what is refused. */
import assert from "node:assert/strict";
import { readTasks } from "./bench_request.ts";

const none = { set: [], setLevel: [] };

Deno.test("names, lists of names, data sets and files become requests", () => {
  assert.deepEqual(readTasks(["chain_sum,gcd", "gsm8k=a/test.jsonl", "b/own.set.jsonl"], none), [
    { name: "chain_sum" },
    { name: "gcd" },
    { name: "gsm8k", path: "a/test.jsonl" },
    { name: "file", path: "b/own.set.jsonl", label: "own.set" },
  ]);
  assert.deepEqual(
    readTasks(["a/test.jsonl", "b/test.jsonl"], none).map(({ label }) => label),
    ["a/test", "b/test"],
  );
  assert.throws(() => readTasks(["gcd=x.jsonl"], none), /only a data set has a path: gsm8k/);
});

Deno.test("parameters and levels are set for the task that they name, or the only one", () => {
  assert.deepEqual(readTasks(["chain_sum", "gsm8k"], { set: ["min_terms=3"], setLevel: [] }), [
    { name: "chain_sum", parameters: { min_terms: 3 } },
    { name: "gsm8k" },
  ]);
  const two = ["chain_sum", "gcd"], set = ["gcd.max_value=9"];
  assert.deepEqual(readTasks(two, { set, setLevel: [] }), [
    { name: "chain_sum" },
    { name: "gcd", parameters: { max_value: 9 } },
  ]);
  const levels = readTasks(two, { set: [], setLevel: ["chain_sum.num_terms=1"] });
  assert.ok(Object.keys(levels[0]!.parameters!).length > 0);
  assert.equal(levels[1]!.parameters, undefined);
});

Deno.test("parameters without their task are refused, after unknown tasks", () => {
  const set = ["min_terms=3"];
  assert.throws(
    () => readTasks(["chain_sum", "gcd"], { set, setLevel: [] }),
    /chain_sum\.min_terms/,
  );
  assert.throws(() => readTasks(["gsm8k"], { set, setLevel: [] }), /no task that has parameters/);
  assert.deepEqual(readTasks(["chain_some"], { set, setLevel: [] }), [{ name: "chain_some" }]);
  const level = { set: [], setLevel: [], level: 1 };
  for (const names of [[], ["gsm8k"], ["gsm8k", "math500"]]) {
    assert.throws(() => readTasks(names, level), /--level 1: no task that has levels/);
  }
  assert.equal(readTasks(["gsm8k", "chain_sum"], level)[0]!.parameters, undefined);
  assert.deepEqual(readTasks(["chain_some"], level), [{ name: "chain_some" }]);
});

Deno.test("a table in plain text is a file of problems", () => {
  assert.deepEqual(readTasks(["a/mul.csv"], { set: [], setLevel: [] }), [
    { name: "file", path: "a/mul.csv", label: "mul" },
  ]);
});
