/** Several tasks as the source of a run: starting levels, and changes between entries. */
import assert from "node:assert/strict";
import { UsageError } from "../core/errors.ts";
import { createDataset } from "../tasks/dataset.ts";
import type { Entry } from "../tasks/types.ts";
import { splitProblems } from "./held_out.ts";
import { openSource, type SourceOptions } from "./open_source.ts";

const MIXED: SourceOptions = {
  task_name: null,
  dataset_name: null,
  task_config: {},
  tasks: [
    { task_name: "chain_sum", weight: 2, config: { max_terms: 3 } },
    { task_name: "leg_counting", weight: 1, config: {} },
  ],
  seed: 5,
  num_examples: 200,
};

const names = (entries: readonly Entry[]) => entries.map((e) => e.metadata["source_dataset"]);
const take = (entry: (i: number) => Entry, n = 200) =>
  Array.from({ length: n }, (_, i) => entry(i));

Deno.test("several tasks are drawn by weight, each with a seed of its own", () => {
  const source = openSource(MIXED);
  const entries = take((i) => source.entry("train", i));
  const sums = names(entries).filter((name) => name === "chain_sum").length;
  assert.ok(sums > 105 && sums < 160, `${sums} of 200`);
  const own = createDataset("leg_counting", { seed: 5 + 2 });
  for (const entry of entries.filter((e) => e.metadata["source_dataset"] === "leg_counting")) {
    assert.deepEqual(entry, own.entry(entry.metadata["source_index"] as number));
  }
  const datasets = MIXED.tasks!.map(({ task_name: name, weight, config }) => ({
    name,
    weight,
    config,
  }));
  const named = openSource({
    ...MIXED,
    tasks: null,
    task_name: "composite",
    task_config: { datasets },
  });
  assert.deepEqual(take((i) => named.entry("train", i)), entries);
  assert.equal(named.mix!.parts.length, 2);
});

Deno.test("weights and tasks change in the training split and nowhere else", () => {
  const source = openSource(MIXED);
  const problems = splitProblems({ source, heldOutCount: 40 });
  const heldOut = [...problems.heldOut], test = take((i) => source.entry("test", i), 50);
  problems.source.mix!.updateWeight("chain_sum", 0);
  assert.deepEqual(new Set(names(take(problems.trainEntry))), new Set(["leg_counting"]));
  problems.source.mix!.addDataset({ name: "spell_backward", weight: 50, config: {} });
  assert.ok(names(take(problems.trainEntry)).filter((n) => n === "spell_backward").length > 150);
  assert.deepEqual(problems.heldOut, heldOut);
  assert.deepEqual(take((i) => source.entry("test", i), 50), test);
  assert.equal(problems.overlap, 0);
});

Deno.test("the weights hold although the held-out problems are most of what one task has", () => {
  const tasks = ["tower_of_hanoi", "chain_sum"].map((task_name) => ({
    task_name,
    weight: 1,
    config: {},
  }));
  const problems = splitProblems({ source: openSource({ ...MIXED, tasks }), heldOutCount: 300 });
  const held = problems.heldOut.filter(({ metadata }) =>
    metadata["source_dataset"] === "tower_of_hanoi"
  );
  assert.ok(held.length > 60 && held.length < 90, String(held.length));
  const trained = names(take(problems.trainEntry, 400));
  const share = trained.filter((name) => name === "tower_of_hanoi").length / trained.length;
  assert.ok(share > 0.4 && share < 0.6, `${share} of the training problems`);
  assert.equal(problems.overlap, 0);
});

Deno.test("a curriculum's task begins at its level; only its training parameters change", () => {
  const task: SourceOptions = {
    ...MIXED,
    tasks: null,
    task_name: "chain_sum",
    task_config: { allow_negation: true, max_digits: 9 },
    curriculum: { curricula: { chain_sum: { attribute_levels: { "*": 0, num_terms: 1 } } } },
  };
  const source = openSource(task);
  const difficulty = (split: "train" | "test") => source.entry(split, 0).metadata["difficulty"];
  assert.deepEqual(difficulty("train"), { num_terms: [2, 3], num_digits: [1, 1] });
  const before = source.entry("test", 0);
  source.setConfig("chain_sum", { min_terms: 5, max_terms: 5 });
  assert.deepEqual(difficulty("train"), { num_terms: [5, 5], num_digits: [1, 4] });
  assert.deepEqual(source.entry("test", 0), before);
  assert.throws(() => source.setConfig("leg_counting", {}), /not of "leg_counting"/);
  assert.throws(() => source.setConfig("chain_sum", { min_terms: 0 }), UsageError);
  const negated = take((i) => openSource(task).entry("train", i), 100)
    .some(({ question }) => /-\d/.test(question));
  assert.ok(negated, "parameters that no attribute sets are as written");
});

Deno.test("without names every task with levels begins at level 0; strangers are refused", () => {
  const open = (curricula: Record<string, { attribute_levels: Record<string, number> }>) =>
    openSource({ ...MIXED, curriculum: { curricula } });
  const source = open({});
  for (const { metadata } of take((i) => source.entry("train", i), 60)) {
    if (metadata["source_dataset"] === "chain_sum") assert.equal(metadata["num_terms"], 2);
  }
  const refuses = (name: string, levels: Record<string, number>, pattern: RegExp) =>
    assert.throws(() => open({ [name]: { attribute_levels: levels } }), pattern);
  refuses("leg_countin", {}, /curricula\.leg_countin: not a task of this run, did you mean leg_/);
  refuses("chain_sum", { terms: 0 }, /terms: unknown curriculum attribute/);
  refuses("chain_sum", { num_terms: 99 }, /levels .* found 99/);
});
