/**
 * Tests composite data sets: drawing, changing, versions and scoring. Recorded composites of
 * reasoning-gym are compared too.
 */
import assert from "node:assert/strict";
import { UsageError } from "../core/errors.ts";
import { refusal } from "../core/testing.ts";
import { CompositeDataset } from "./composite_dataset.ts";
import { createDataset } from "./dataset.ts";
import { scoreTaskAnswer } from "./registry.ts";
import { readGoldenLines } from "../tests/golden.ts";
import type { Entry } from "./types.ts";

const OPTIONS = { seed: 42, size: 100, split: "train" } as const;
const PARTS = [
  { name: "chain_sum", weight: 2, config: {} },
  { name: "leg_counting", weight: 1, config: { max_animals: 4 } },
  { name: "spell_backward", weight: 1, config: {} },
];

const sources = (entries: Entry[]) => entries.map((e) => e.metadata["source_dataset"] as string);
const take = (set: { entry(i: number): Entry }, n: number) =>
  Array.from({ length: n }, (_, i) => set.entry(i));

Deno.test("entry i is entry i of the data set that the draw for i chooses, unchanged", () => {
  const mixed = createDataset("composite", { seed: 42, size: 100, datasets: PARTS });
  const counts: Record<string, number> = {};
  for (const [i, entry] of take(mixed, 2000).entries()) {
    const name = entry.metadata["source_dataset"] as string;
    counts[name] = (counts[name] ?? 0) + 1;
    const part = PARTS.findIndex((candidate) => candidate.name === name);
    const own = createDataset(name, { seed: 43 + part, size: 100, ...PARTS[part]!.config });
    if (i < 100) assert.deepEqual(entry, own.entry(i));
    assert.equal(scoreTaskAnswer("composite", entry.answer, entry), 1);
  }
  assert.ok(Math.abs(counts["chain_sum"]! - 1000) < 120, JSON.stringify(counts));
  assert.ok(Math.abs(counts["leg_counting"]! - 500) < 100, JSON.stringify(counts));
});

Deno.test("a part's seed and size are kept, splits differ", () => {
  const parts = [{ name: "chain_sum", weight: 1, config: { seed: 7 } }];
  const mixed = createDataset("composite", { seed: 42, datasets: parts });
  assert.deepEqual(mixed.entry(3), createDataset("chain_sum", { seed: 7 }).entry(3));
  const test = createDataset("composite", { seed: 42, datasets: PARTS, split: "test" });
  const train = createDataset("composite", { seed: 42, datasets: PARTS });
  assert.notDeepEqual(take(test, 20), take(train, 20));
});

Deno.test("parameters, weights and data sets can change; other entries stay the same", () => {
  const mixed = new CompositeDataset(PARTS, { ...OPTIONS, versions: true });
  const before = take(mixed, 60);
  mixed.updateConfig("chain_sum", { min_digits: 3, max_digits: 3 });
  for (const [i, entry] of take(mixed, 60).entries()) {
    if (entry.metadata["source_dataset"] === "chain_sum") {
      assert.equal(entry.metadata["num_digits"], 3);
      assert.equal(entry.metadata["version_id"], 4);
      assert.equal(entry.metadata["entry_id"], `4.${i}`);
    } else assert.deepEqual(entry, before[i]);
  }
  mixed.updateWeight("chain_sum", 0);
  assert.ok(!sources(take(mixed, 60)).includes("chain_sum"));
  mixed.addDataset({ name: "simple_geometry", weight: 100, config: {} });
  assert.ok(sources(take(mixed, 60)).filter((name) => name === "simple_geometry").length > 50);
  const own = createDataset("simple_geometry", { seed: 42 + 4, size: 100 });
  const added = take(mixed, 60).find((e) => e.metadata["source_dataset"] === "simple_geometry")!;
  assert.equal(added.question, own.entry(added.metadata["source_index"] as number).question);
  mixed.removeDataset("simple_geometry");
  assert.ok(!sources(take(mixed, 60)).includes("simple_geometry"));
});

Deno.test("an answer is scored by the entry's id, also after its parameters have changed", () => {
  const mixed = new CompositeDataset(PARTS, { ...OPTIONS, versions: true });
  const old = take(mixed, 30).find((e) => e.metadata["source_dataset"] === "chain_sum")!;
  const id = old.metadata["entry_id"] as string;
  for (let digits = 1; digits <= 6; digits++) {
    mixed.updateConfig("chain_sum", { min_digits: digits, max_digits: digits });
  }
  assert.equal(mixed.scoreAnswerById(old.answer, id), 1);
  assert.equal(mixed.scoreAnswerById("no", id), 0);
  for (let i = 0; i < 10; i++) mixed.updateConfig("chain_sum", { min_terms: 2 });
  assert.throws(() => mixed.scoreAnswerById(old.answer, id), /no entry "1\./);
  const leg = take(mixed, 30).find((e) => e.metadata["source_dataset"] === "leg_counting")!;
  assert.equal(mixed.scoreAnswerById(leg.answer, leg.metadata["entry_id"] as string), 1);
  assert.throws(() => mixed.scoreAnswerById("1", "nonsense"), UsageError);
});

Deno.test("data sets that cannot be mixed are refused", () => {
  const refuses = (datasets: unknown, pattern: RegExp) =>
    assert.throws(
      () => createDataset("composite", { seed: 1, datasets }),
      refusal(pattern, UsageError),
    );
  refuses(null, /datasets: a list of \{name, weight, config\}.*found null/);
  refuses([], /at least one task/);
  refuses([{ name: "chain_sum", weight: 0 }], /\[0\]\.weight: expected a number above 0, found 0/);
  refuses([PARTS[0], PARTS[0]], /"chain_sum" is there twice/);
  refuses([{ name: "chain_sun" }], /unknown task "chain_sun".*chain_sum/);
  refuses([{ name: "chain_sum", config: { max_term: 3 } }], /max_term/);
  refuses([{ name: "chain_sum", wieght: 3 }], /wieght: not a key/);
  refuses([{ name: "composite" }], /can not hold another/);
  const mixed = new CompositeDataset(PARTS, OPTIONS);
  assert.throws(
    () => mixed.updateWeight("leg_countin", 1),
    /did you mean.*leg_counting|leg_counting/,
  );
  assert.throws(() => mixed.updateWeight("chain_sum", -1), /at least 0, found -1/);
  assert.throws(() => mixed.addDataset(PARTS[1]!), /is there already/);
  for (const { name } of PARTS.slice(1)) mixed.removeDataset(name);
  assert.throws(() => mixed.removeDataset("chain_sum"), /the last data set/);
  assert.throws(() => mixed.updateWeight("chain_sum", 0), /only data set with a weight above 0/);
});

Deno.test("recorded answers to a composite's entries get the recorded scores", () => {
  interface Row extends Entry {
    checks: { answer: string | null; score: number }[];
  }
  let compared = 0;
  for (const row of readGoldenLines<Row>("reasoning-gym/items/composite.jsonl")) {
    for (const { answer, score } of row.checks) {
      const found = scoreTaskAnswer("composite", answer, row);
      assert.ok(Math.abs(found - score) < 1e-9, `${answer}: ${found}, not ${score}`);
      compared++;
    }
  }
  assert.ok(compared > 30);
});
