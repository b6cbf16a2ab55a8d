import assert from "node:assert/strict";
import { getReward } from "./registry.ts";
import { input, valueOf } from "./testing.ts";

const tokens = (n: number) => new Array<number>(n).fill(1);

function near(actual: unknown, expected: number, message?: string) {
  assert.ok(Math.abs(Number(actual) - expected) < 1e-6, message ?? `${actual} ≠ ${expected}`);
}

Deno.test("think_format_reward wants one <think> at the very start and its end", () => {
  const cases: [string, number][] = [
    ["<think>r</think>", 1],
    ["<think>\nr\n</think>\nA", 1],
    ["<think></think>", 1],
    ["<think>a</think>b</think>c", 1],
    ["<think>r A", 0],
    [" <think>r</think>A", 0],
    ["<think>a<think>b</think>c", 0],
    ["x\n<think>a</think>b", 0],
    ["<think>a</think>b<think>", 0],
  ];
  for (const [text, value] of cases) {
    assert.equal(valueOf("think_format_reward", input(text)), value, text);
  }
});

Deno.test("accuracy_reward compares the stated formula with the gold answer", () => {
  const cases: [string, string, number | null][] = [
    ["My answer is \\boxed{\\frac{1}{3}}", "\\frac{1}{3}", 1],
    ["\\boxed{\\frac{1}{2}}", "\\frac{1}{3}", 0],
    ["\\boxed{72}", "72", 1],
    ["\\boxed{72.0}", "72", 1],
    ["The answer is $72$", "72", 1],
    ["The final answer is $72$. I hope it is correct.", "72", 1],
    ["72", "72", 0],
    ["no", "72", 0],
    ["$$72$$", "72", 0],
    ["\\[72\\]", "72", 0],
    ["\\boxed{0.5}", "\\frac{1}{2}", 1],
    ["\\boxed{1,000}", "1000", 1],
    ["\\boxed{50\\%}", "0.5", 1],
    ["\\boxed{x=4}", "4", 1],
    ["\\boxed{5\\text{ cm}}", "5", 1],
    ["\\boxed{\\sqrt{4}}", "2", 1],
    ["$5$ \\boxed{4}", "4", 1],
    ["\\boxed{2}", "two", null],
    ["\\boxed{3} and \\boxed{4}", "4", 1],
    ["\\boxed{3} and \\boxed{4}", "3", 0],
    ["\\boxed{two}", "2", 0],
    ["\\boxed{4}", "so it is \\boxed{4}", 1],
    ["\\boxed{72}", "6 * 12 = 72\n#### 72", 1],
    ["\\boxed{12}", "6 * 12 = 72\n#### 72", 0],
  ];
  for (const [completion, answer, value] of cases) {
    const sample = input(completion, { answer });
    assert.equal(valueOf("accuracy_reward", sample), value, `${completion} / ${answer}`);
  }
  const columns = input("\\boxed{4}", { answer: "5", info: { solution: "$4$" } });
  assert.equal(valueOf("accuracy_reward", columns), 1);
  assert.equal(valueOf("accuracy_reward", input("\\boxed{4}", { answer: null })), null);
});

Deno.test("reasoning_accuracy_reward looks after the reasoning only", () => {
  const value = (text: string, params = {}) =>
    valueOf("reasoning_accuracy_reward", input(text, { answer: "4" }), params);
  assert.equal(value("<think>\\boxed{5}</think> \\boxed{4}"), 1);
  assert.equal(value("<think>\\boxed{4}</think> done"), 0);
  assert.equal(value("a</think>\\boxed{4}</think>\\boxed{5}"), 0);
  assert.equal(value("\\boxed{4}"), 0);
  assert.equal(value("a</r>\\boxed{4}", { reasoning_delimiters: ["</think>", "</r>"] }), 1);
  assert.equal(
    value("</a>\\boxed{5}</b>\\boxed{4}", { reasoning_delimiters: ["</a>", "</b>"] }),
    1,
  );
  const gold = input("a</think>\\boxed{4}", { answer: "four" });
  assert.equal(valueOf("reasoning_accuracy_reward", gold), null);
  const cut = input("a", { answer: "four" });
  assert.equal(valueOf("reasoning_accuracy_reward", cut), 0);
});

Deno.test("soft_overlong falls to −1 near the limit", () => {
  const cases = [[0, 0], [1024, 0], [1025, -0.00390625], [1152, -0.5], [1280, -1], [1281, -1]];
  for (const [n, value] of cases) {
    assert.equal(valueOf("soft_overlong", input("", { completionIds: tokens(n!) })), value);
  }
  const params = { max_completion_len: 10, soft_punish_cache: 4 };
  const sample = input("", { completionIds: tokens(7) });
  assert.equal(valueOf("get_soft_overlong_punishment", sample, params), -0.25);
});

Deno.test("cosine_scaled prefers short right and long wrong answers", () => {
  const lengths = [0, 25, 50, 100, 200];
  const value = (completion: string, n: number, params = {}) =>
    valueOf("cosine", input(completion, { answer: "4", completionIds: tokens(n) }), params);
  const right = [1, 0.926777, 0.75, 0.5, 0.5], wrong = [-1, -0.926777, -0.75, -0.5, -0.5];
  for (const [i, n] of lengths.entries()) {
    near(value("\\boxed{4}", n, { max_len: 100 }), right[i]!);
    near(value("\\boxed{5}", n, { max_len: 100 }), wrong[i]!);
  }
  near(value("\\boxed{4}", 10), 0.75, "without max_len it is the longest completion, here 20");
  assert.equal(valueOf("cosine_scaled", input("\\boxed{4}", { answer: "four" })), null);
});

Deno.test("repetition_penalty counts repeated n-grams of tokens", () => {
  const cases: [number[], number][] = [
    [[], 0],
    [[1, 2], 0],
    [[1, 2, 3], 0],
    [[1, 1, 1, 1], -0.5],
    [[1, 2, 3, 1, 2, 3], -0.25],
    [new Array(10).fill(5), -0.875],
  ];
  for (const [completionIds, value] of cases) {
    assert.equal(valueOf("repetition_penalty", input("", { completionIds })), value);
  }
  const sample = input("", { completionIds: [1, 1, 1] });
  assert.equal(valueOf("repetition_penalty", sample, { ngram_size: 1, max_penalty: -3 }), -2);
});

Deno.test("TRL's spellings are names too, and its names stand in the metrics", () => {
  for (
    const name of ["soft_overlong_punishment", "cosine_scaled_reward", "repetition_penalty_reward"]
  ) {
    const metric = name.endsWith("_reward") ? name : `${name}_reward`;
    assert.equal(getReward(`get_${name}`).metric, metric);
    assert.equal(getReward(metric).metric, metric);
  }
});
