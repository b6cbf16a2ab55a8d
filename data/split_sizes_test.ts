import assert from "node:assert/strict";
import { splitProblems } from "./held_out.ts";
import { openSource, type SourceOptions } from "./open_source.ts";
import { splitCounts, type SplitSizes, trainShare } from "./split_sizes.ts";

const QUESTIONS = Array.from({ length: 50 }, (_, i) => `What is ${i} + ${i}?`);
const entryOf = (question: string) => ({ question, answer: "1", metadata: {} as never });

function open(sizes: SplitSizes, more: Partial<SourceOptions> = {}) {
  // Every question stands in the file twice.
  const entries = [...QUESTIONS, ...QUESTIONS].map(entryOf);
  const file = { task_name: null, dataset_name: "f.jsonl", task_config: {}, seed: 1 };
  return openSource({ ...file, num_examples: null, entries, ...sizes, ...more });
}

/** The different questions of each split. */
function questionsOf(source: ReturnType<typeof open>) {
  const of = (split: "train" | "validation" | "test") =>
    new Set(
      Array.from({ length: source.length(split) }, (_, i) => source.entry(split, i).question),
    );
  return { train: of("train"), validation: of("validation"), test: of("test") };
}

Deno.test("a file is divided into as many questions as the keys ask for, none of them in two", () => {
  const cases: [sizes: SplitSizes, train: number, validation: number, test: number][] = [
    [{ test_examples: 7 }, 43, 0, 7],
    [{ validation_examples: 5, test_examples: 7 }, 38, 5, 7],
    [{ train_ratio: 0.8 }, 40, 0, 10],
    [{ train_ratio: 0.8, validation_examples: 4 }, 40, 4, 6],
    [{ train_ratio: 0.5, validation_examples: 4, test_examples: 3 }, 25, 4, 3],
    [{ train_ratio: 1 }, 50, 0, 0],
  ];
  for (const [sizes, ...expected] of cases) {
    const source = open(sizes), { train, validation, test } = questionsOf(source);
    assert.deepEqual([train.size, validation.size, test.size], expected, JSON.stringify(sizes));
    const all = new Set([...train, ...validation, ...test]);
    assert.equal(all.size, expected[0]! + expected[1]! + expected[2]!);
    assert.equal(source.length("train"), 2 * train.size);
    const unused = 50 - all.size;
    const note = `f.jsonl: ${unused} of the 50 different problems are in no split`;
    assert.deepEqual(source.notes, unused === 0 ? [] : [note]);
  }
});

Deno.test("the order of a file does not move a question to another split", () => {
  const sizes = { validation_examples: 5, test_examples: 7 };
  const reversed = open(sizes, { entries: [...QUESTIONS].reverse().map(entryOf) });
  assert.deepEqual(
    [...questionsOf(open(sizes)).test].sort(),
    [...questionsOf(reversed).test].sort(),
  );
});

Deno.test("a validation alone leaves the fifth that is held out as it was", () => {
  const before = questionsOf(open({})), after = questionsOf(open({ validation_examples: 6 }));
  assert.deepEqual(after.test, before.test);
  assert.equal(after.validation.size, 6);
  assert.equal(after.train.size, before.train.size - 6);
  const none = questionsOf(open({ validation_examples: 6 }, { hold_out: false }));
  assert.deepEqual([none.train.size, none.test.size], [44, 0]);
});

Deno.test("a file's own test split is kept, and the validation is of its training rows", () => {
  const testEntries = ["a", "b", "c"].map(entryOf);
  const split = questionsOf(open({ train_ratio: 0.9, test_examples: 2 }, { testEntries }));
  assert.deepEqual([split.train.size, split.validation.size, split.test.size], [45, 5, 3]);
  assert.throws(() => open({ test_examples: 4 }, { testEntries }), {
    message:
      "data.test_examples 4: more than the 3 different problems of the test split of f.jsonl",
  });
});

Deno.test("sizes that ask for more than there is are one error", () => {
  const name = { name: "f", test: 0 };
  const cases: [total: number, sizes: SplitSizes, message: string][] = [
    [
      50,
      { train_ratio: 0.8, validation_examples: 8, test_examples: 3 },
      "data.validation_examples 8 and data.test_examples 3: more than the 10 that train_ratio 0.8 " +
      "leaves of the 50 different problems of f",
    ],
    [
      50,
      { test_examples: 51 },
      "data.test_examples 51: more than the 50 different problems of f",
    ],
    [
      50,
      { validation_examples: 20, test_examples: 30 },
      "data.validation_examples 20 and data.test_examples 30: none of the 50 different problems " +
      "of f is left to train on",
    ],
    [
      3,
      { train_ratio: 0.1 },
      "data.train_ratio 0.1: none of the 3 different problems of f is " +
      "left to train on",
    ],
  ];
  for (const [total, sizes, message] of cases) {
    assert.throws(() => splitCounts(total, sizes, name), { name: "UsageError", message });
  }
  assert.equal(trainShare(100, 0.29), 29);
});

Deno.test("a task makes its validation, and no split shares a question with another", () => {
  const task = { task_name: "chain_sum", dataset_name: null, task_config: {}, seed: 3 };
  const source = openSource({ ...task, num_examples: 50, train_ratio: 0.8 });
  assert.equal(source.length("train"), 40);
  const problems = splitProblems({ source, heldOutCount: 6, validationCount: 4 });
  const train = Array.from({ length: 40 }, (_, i) => problems.trainEntry(i).question);
  const apart = [...problems.heldOut, ...problems.validation].map(({ question }) => question);
  assert.equal(new Set(apart).size, 10);
  assert.ok(!train.some((question) => apart.includes(question)));
});

Deno.test("a task with too few problems for a validation is an error", () => {
  const config = { min_terms: 2, max_terms: 2, min_digits: 1, max_digits: 1 };
  const task = { task_name: "chain_sum", dataset_name: null, task_config: config, seed: 3 };
  const source = openSource({ ...task, num_examples: 5 });
  assert.throws(
    () => splitProblems({ source, heldOutCount: 0, validationCount: 500 }),
    /data\.validation_examples 500: chain_sum has only \d+ different problems beside the held-out/,
  );
});
