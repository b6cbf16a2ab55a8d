/** Checks the entries of every registered task. A new task is covered automatically. */
import assert from "node:assert/strict";
import { SPLIT, type Split } from "../core/philox.ts";
import { curriculumConfig } from "./curriculum/levels.ts";
import { createDataset, type DatasetOptions } from "./dataset.ts";
import { getTask, scoreAnswer } from "./registry.ts";
import { testedTasks } from "./testing.ts";
import type { Entry } from "./types.ts";

const SEEDS = [0, 77, 2 ** 40];

/** Maximum length of an entry with default parameters, in characters, so that prompts have room. */
const MAX_QUESTION_LENGTH = 12_000, MAX_ANSWER_LENGTH = 24_000;

/** Keys whose value does not lie in the range of the same name, with the reason. */
const OTHER_MEANING: Record<string, string> = {
  "circuit_logic.inputs": "the range is of each term's, the value lists all of them",
  "power_function.exponent": "the range is of its size, half of them are negative",
  "propositional_logic.complexity": "the range is of depths, the value counts the example's nodes",
};

Deno.test("an entry's answer scores 1 and a blank one 0; it exceeds no size that it reports", () => {
  let compared = 0;
  for (const name of testedTasks()) {
    for (const seed of SEEDS) {
      for (const [index, entry] of [...createDataset(name, { seed, size: 30 })].entries()) {
        const { question, answer, metadata, ...more } = entry;
        const label = `${name}, seed ${seed}, entry ${index}`, before = JSON.stringify(entry);
        assert.deepEqual([metadata["source_dataset"], metadata["source_index"]], [name, index]);
        assert.deepEqual(Object.keys(more), [], label);
        assert.ok(["object", "number"].includes(typeof metadata["difficulty"]), label);
        assert.ok(question.trim() !== "", `${label}: an empty question`);
        assert.ok(
          question.length <= MAX_QUESTION_LENGTH,
          `${label}: ${question.length} characters`,
        );
        assert.ok((answer ?? "").length <= MAX_ANSWER_LENGTH, `${label}: a long answer`);
        compared += checkSizes(entry, label);
        if (answer !== null) assert.equal(scoreAnswer(answer, entry), 1, label);
        scoreAnswer("something else", entry);
        assert.equal(JSON.stringify(entry), before, `${label}: scoring changes the entry`);
        if (getTask(name).acceptsBlank) continue;
        assert.equal(scoreAnswer(" \n", entry), 0, label);
        assert.equal(scoreAnswer(null, entry), 0, label);
      }
    }
  }
  if (Deno.env.get("RGX_TEST_TASKS") === undefined) assert.ok(compared > 3000, String(compared));
});

/** Compares the values of the metadata with the ranges of the same names; returns their number. */
function checkSizes({ metadata }: Entry, label: string): number {
  const { source_dataset: name, difficulty } = metadata;
  let compared = 0;
  for (const [key, claim] of Object.entries(difficulty ?? {})) {
    if (!isPair(claim) || OTHER_MEANING[`${name}.${key}`] !== undefined) continue;
    const value = metadata[key];
    const size = Array.isArray(value) && !isNumbers(value, claim) ? value.length : null;
    for (const found of size !== null ? [size] : [value].flat()) {
      if (typeof found !== "number") continue;
      const text = `${label}: ${key} is ${found}, claimed are ${claim}`;
      assert.ok(found >= claim[0] && found <= claim[1], text);
      compared++;
    }
  }
  return compared;
}

function isPair(value: unknown): value is [number, number] {
  return Array.isArray(value) && value.length === 2 && value.every((x) => typeof x === "number");
}

/** Whether the list holds values of the range, rather than as many values as the range says. */
function isNumbers(list: readonly unknown[], [low, high]: [number, number]): boolean {
  return list.every((x) => typeof x === "number" && x >= low && x <= high);
}

Deno.test("scorers accept any text and any entry and return 0 to 1", () => {
  const texts = [
    "0",
    "-1",
    "nan",
    "1e999999999999999999999",
    "[[1, 2], [3]]",
    '{"a": 1}',
    "Move disk 1 from Peg 1 to Peg 2",
    "right down",
    "\u0000",
    "😀 ﷽ \ud800",
    "((((((((((",
    "1, ".repeat(5_000),
  ];
  for (const name of testedTasks()) {
    const entry = createDataset(name, { seed: 3 }).entry(0);
    const bare = { metadata: { source_dataset: name } };
    for (const text of texts) {
      for (const candidate of [entry, bare, { ...bare, answer: null }, { ...bare, answer: "7" }]) {
        const score = scoreAnswer(text, candidate);
        assert.ok(score >= 0 && score <= 1, `${name}: ${score} for ${text.slice(0, 20)}`);
      }
    }
  }
});

Deno.test("an entry depends only on seed, split and index, not on size or order", () => {
  for (const name of testedTasks()) {
    const far = 1_000_000;
    const forward = [...createDataset(name, { seed: 9, size: 20 })];
    const alone = createDataset(name, { seed: 9, size: 3 });
    assert.deepEqual(alone.entry(far), createDataset(name, { seed: 9 }).entry(far), name);
    for (let i = 19; i >= 0; i--) assert.deepEqual(alone.entry(i), forward[i], `${name} ${i}`);
    assert.notDeepEqual(
      questions(createDataset(name, { seed: 10, size: 20 })),
      forward.map((entry) => entry.question),
      `${name}: another seed gives the same questions`,
    );
    assert.deepEqual(JSON.parse(JSON.stringify(forward)), forward, `${name}: not JSON`);
  }
});

Deno.test("the splits have different entries, even when shifted", () => {
  for (const name of testedTasks()) {
    const bySplit = (Object.keys(SPLIT) as Split[]).map((split) =>
      questions(createDataset(name, { seed: 7, size: 24, split }))
    );
    for (let a = 0; a < bySplit.length; a++) {
      for (let b = a + 1; b < bySplit.length; b++) {
        for (let shift = 0; shift < 8; shift++) {
          const same = bySplit[a]!.filter((q, i) => q === bySplit[b]![i + shift]).length;
          assert.ok(same < 6, `${name}: ${same} of 24 entries are the same with shift ${shift}`);
        }
      }
    }
  }
});

Deno.test("the answers at every curriculum level are right", () => {
  for (const name of testedTasks()) {
    const attributes = getTask(name).curriculum ?? [];
    const top = Math.max(0, ...attributes.map((attribute) => attribute.levels.length - 1));
    for (let level = 0; attributes.length > 0 && level <= top; level++) {
      for (const mode of ["inclusive", "upper_bound"] as const) {
        const config = curriculumConfig(getTask(name), { "*": level }, { mode });
        const options: DatasetOptions = { ...config, seed: 2, size: 2 };
        for (const entry of createDataset(name, options)) {
          if (entry.answer !== null) {
            assert.equal(scoreAnswer(entry.answer, entry), 1, `${name} ${mode} level ${level}`);
          }
        }
      }
    }
  }
});

Deno.test("a null seed is drawn once and recorded", () => {
  const dataset = createDataset("chain_sum", { seed: null, size: 5 });
  const again = createDataset("chain_sum", { seed: dataset.config["seed"] as number, size: 5 });
  assert.deepEqual([...again], [...dataset]);
  assert.notEqual(
    createDataset("chain_sum").config["seed"],
    createDataset("chain_sum").config["seed"],
  );
});

function questions(entries: Iterable<Entry>): string[] {
  return [...entries].map((entry) => entry.question);
}
