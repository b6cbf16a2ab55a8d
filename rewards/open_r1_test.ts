/**
 * open-r1's rewards. The values are those of a Python program that was written from the patterns
 * and formulas, with Python's own `re` and `math`.
 */
import assert from "node:assert/strict";
import { checkParams } from "../core/named_params.ts";
import { getReward } from "./registry.ts";
import { input, valueOf } from "./testing.ts";
import type { RewardValue } from "./types.ts";

function near(actual: unknown, expected: number, message: string) {
  assert.ok(Math.abs(Number(actual) - expected) < 1e-8, `${message}: ${actual} ≠ ${expected}`);
}

/** Completion, then its open_r1_format, open_r1_tag_count and open_r1_code_format. */
const FORMATS: readonly [text: string, format: number, tags: number, code: number][] = [
  ["<think>\na\n</think>\n<answer>\n4\n</answer>", 1, 1.0, 0],
  ["<think>\n\n</think>\n<answer>\n\n</answer>\nmore", 1, 1.0, 0],
  ["<think>\na\n</think>\n<answer>\n4\n</answer> more", 0, 1.0, 0],
  ["<think>\na\n</think>\n<answer>\n4\n</answer> more\n</answer>", 1, 0.75, 0],
  [" <think>\na\n</think>\n<answer>\n4\n</answer>", 0, 1.0, 0],
  ["<think>a</think><answer>4</answer>", 0, 0, 0],
  ["<think>\na</think>\n<answer>\n4\n</answer>", 0, 0.75, 0],
  ["<think>\n</think>\n<answer>\n</answer>", 0, 1.0, 0],
  ["<think>\nb\n</think>\nx\n</think>\n<answer>\n4\n</answer>", 1, 0.75, 0],
  ["<think>\n<think>\n</think>\n</think>\n\n<answer>\n\n</answer>\n</answer>", 0, 0.5, 0],
  ["<think>\na\n</think>\n<answer>\n```python\nx\n```\n</answer>", 1, 1.0, 1],
  ["<think>\na\n</think>\n<answer>\n```python x``` t\n</answer>", 1, 1.0, 1],
  ["<think>\na\n</think>\n<answer>\n```python\nx\n</answer>", 1, 1.0, 0],
  ["<think>\na\n</think>\n<answer>\n```cpp\nx\n```\n</answer>", 1, 1.0, 0],
  ["<think>\n```python\n```\n</think>\n<answer>\n4\n</answer>", 1, 1.0, 0],
  ["", 0, 0, 0],
];

Deno.test("open-r1's formats are those of its patterns", () => {
  for (const [text, format, tags, code] of FORMATS) {
    assert.equal(valueOf("open_r1_format", input(text)), format, text);
    assert.equal(valueOf("open_r1_tag_count", input(text)), tags, text);
    assert.equal(valueOf("open_r1_code_format", input(text)), code, text);
  }
});

Deno.test("the language of the code is the parameter, or the data's column", () => {
  const text = "<think>\na\n</think>\n<answer>\n```cpp\nx\n```\n</answer>";
  assert.equal(valueOf("open_r1_code_format", input(text), { language: "cpp" }), 1);
  assert.equal(valueOf("open_r1_code_format", input(text, { info: { language: "cpp" } })), 1);
  const python = input(text, { info: { language: "python" } });
  assert.equal(valueOf("open_r1_code_format", python, { language: "cpp" }), 0);
  const { params } = getReward("open_r1_code_format");
  assert.match(checkParams("reward", params, { language: "perl" })[0]!, /language: must be one of/);
});

Deno.test("open_r1_reasoning_steps counts three signs of steps at most", () => {
  const cases: readonly [text: string, value: number][] = [
    ["", 0.0],
    ["Step 1: a Step 22: b", 0.6666666666666666],
    ["1. a\n2. b", 0.3333333333333333],
    ["x\n- a\n* b\n-- c", 1.0],
    ["First, a. Second, b. Next, c. Finally, d.", 1.0],
    ["First a, step 1: Step 1", 0.0],
    ["Step \u0663: a", 0.3333333333333333],
    ["12. First,", 0.6666666666666666],
  ];
  for (const [text, value] of cases) {
    assert.equal(valueOf("open_r1_reasoning_steps", input(text)), value, text);
  }
});

Deno.test("open_r1_repetition_penalty compares n-grams of words in small letters", () => {
  const cases: readonly [text: string, size: number, max: number, value: number][] = [
    ["", 3, -1, 0],
    ["a b", 3, -1, 0],
    ["a b c", 3, -1, 0],
    ["A a a a", 3, -1, -0.5],
    ["the cat The Cat the cat", 2, -2, -1.2],
    ["a b c a b c", 3, -1, -0.25],
    ["x\u00a0y x\u001cy x\ty", 2, -1, -0.6],
    ["ab c a bc", 1, -1, 0],
  ];
  for (const [text, ngram_size, max_penalty, value] of cases) {
    const params = { ngram_size, max_penalty };
    near(valueOf("open_r1_repetition_penalty", input(text), params), value, text);
  }
  const { params } = getReward("open_r1_repetition_penalty");
  assert.match(checkParams("reward", params, { max_penalty: 1 })[0]!, /max_penalty: .*at most 0/);
});

/** A completion of so many characters, the first of which is two UTF-16 units. */
const ofLength = (answer: string, length: number) =>
  `\u{1d465}\\boxed{${answer}}`.padEnd(length + 1, " ");

Deno.test("open_r1_cosine goes by characters, and swings back beyond max_len", () => {
  const cases: readonly [right: number, length: number, plain: number, other: number][] = [
    [1, 20, 0.999506682, 1.988303924],
    [1, 250, 0.926776695, 0.686450739],
    [1, 500, 0.75, 0.378248558],
    [1, 1000, 0.5, 1.05],
    [1, 1500, 0.75, 1.721751442],
    [1, 2000, 1.0, 0.1],
    [0, 20, -0.000493318, -0.995383128],
    [0, 250, -0.073223305, -0.481493713],
    [0, 500, -0.25, -0.359834957],
    [0, 1000, -0.5, -0.625],
    [0, 1500, -0.25, -0.890165043],
    [0, 2000, 0.0, -0.25],
  ];
  const other = {
    max_len: 400,
    min_value_wrong: -1,
    max_value_wrong: -0.25,
    min_value_correct: 0.1,
    max_value_correct: 2,
  };
  for (const [right, length, plain, changed] of cases) {
    const sample = input(ofLength(right === 1 ? "72" : "7", length), { answer: "72" });
    near(valueOf("open_r1_cosine", sample), plain, `${right} ${length}`);
    near(valueOf("open_r1_cosine", sample, other), changed, `${right} ${length}`);
  }
  const noFormula = input(ofLength("72", 500), { answer: "seventy two" });
  assert.equal(valueOf("open_r1_cosine", noFormula), 1);
});

/** The values of a batch of completions with these lengths, right (1) or wrong (0). */
function lengthValues(lengths: readonly number[], right: readonly number[], answer = "72") {
  const reward = getReward("open_r1_length");
  assert.ok("computeBatch" in reward);
  const items = lengths.map((length, i) =>
    input(ofLength(right[i] ? "72" : "7", length), { answer })
  );
  return reward.computeBatch(items, {}) as RewardValue[];
}

Deno.test("open_r1_length compares the lengths of a step's completions", () => {
  const lengths = [20, 40, 60, 100, 20, 100, 80];
  assert.deepEqual(lengthValues(lengths, [1, 1, 1, 1, 0, 0, 0]), [
    0.5,
    0.25,
    0.0,
    -0.5,
    0,
    -0.5,
    -0.25,
  ]);
  assert.deepEqual(lengthValues([30, 30, 30], [1, 0, 1]), [0, 0, 0]);
  // A completion that cannot be judged is not punished.
  assert.deepEqual(lengthValues([20, 30], [0, 0], "seventy two"), [0.5, -0.5]);
});
