import assert from "node:assert/strict";
import { createDataset } from "../tasks/dataset.ts";
import { getReward, SECONDARY_REWARDS } from "./registry.ts";
import { entry, input, valueOf } from "./testing.ts";
import type { RewardInput } from "./types.ts";

function near(actual: unknown, expected: number) {
  assert.ok(Math.abs(Number(actual) - expected) < 1e-6, `${actual} ≠ ${expected}`);
}

/** The value with reasoning-gym's default scaling, which is the reward's default weight. */
function weighted(name: string, sample: RewardInput): number {
  return Number(valueOf(name, sample)) * (getReward(name).defaultWeight ?? 1);
}

/**
 * A text of n characters with the right answer or none; a character of two UTF-16 units counts
 * once.
 */
const long = (n: number, answer = "") => answer + "😀".repeat(n - answer.length);

Deno.test("rg_format wants thoughts and answer once, in order", () => {
  const cases: [string, number][] = [
    ["<think>a</think><answer>b</answer>", 0.2],
    ["  \n<think>a</think> \n <answer>b</answer> and more", 0.2],
    ["<think></think><answer></answer>", 0.2],
    ["<think>a</think><answer>b</answer><think>c", 0.2],
    ["x<think>a</think><answer>b</answer>", 0],
    ["<think>a</think> so <answer>b</answer>", 0],
    ["<think>a</think><answer>b</answer><answer>c</answer>", 0],
    ["<answer>b</answer>", 0],
    ["<think>a<think>b</think><answer>c</answer>", 0],
    ["<think>a</think><answer>b<answer>c</answer>", 0],
  ];
  for (const [text, value] of cases) {
    assert.equal(weighted("rg_format", input(text)), value, text);
  }
  const opened = { preappend_thinking_token: true };
  assert.equal(valueOf("rg_format", input("a</think><answer>b</answer>"), opened), 1);
  assert.equal(valueOf("rg_format", input("a</think><answer>b</answer>")), 0);
});

Deno.test("rg_cosine goes by characters and swings back unless it is clamped", () => {
  const right = `<answer>${entry.answer}</answer>`;
  const lengths = [0, 250, 500, 1000, 1500, 2000];
  const wrongs = [0, 0.102513, 0.35, 0.7, 0.35, 0];
  const rights = [1, 0.992678, 0.975, 0.95, 0.975, 1];
  for (const [i, n] of lengths.entries()) {
    near(valueOf("rg_cosine", input(long(n))), wrongs[i]!);
    if (n > 0) near(valueOf("rg_cosine", input(long(n, right))), rights[i]!);
  }
  near(valueOf("rg_cosine", input(long(2000)), { clamp: true }), 0.7);
  near(valueOf("rg_cosine", input(long(500)), { max_len: 500 }), 0.7);
  const partial = `<answer>${entry.answer!.replaceAll(" ", "")}</answer>`;
  near(valueOf("rg_cosine", input(long(500, partial))), 0.35);
});

Deno.test("rg_length rewards long attempts by what the score lacks", () => {
  near(weighted("rg_length", input(long(512))), 0.1);
  near(weighted("rg_length", input(long(1024))), 0.2);
  near(weighted("rg_length", input(long(4000))), 0.2);
  near(weighted("rg_length", input(long(4000, `<answer>${entry.answer}</answer>`))), 0);
  const sum = createDataset("chain_sum", { seed: 1 }).entry(0);
  const half = `<answer>${sum.answer}${"x".repeat(sum.answer!.length)}</answer>`;
  near(weighted("rg_length", input(long(512, half), { entry: sum, answer: sum.answer })), 0.05);
});

Deno.test("rg_tag_count gives a quarter for each tag that occurs", () => {
  const cases: [string, number][] = [
    ["<think>a</think><answer>4</answer>", 1],
    ["<answer>4</answer>", 0.5],
    ["</answer><think><think>", 0.5],
    ["none", 0],
  ];
  for (const [text, value] of cases) {
    assert.equal(valueOf("rg_tag_count", input(text)), value, text);
  }
});

Deno.test("rg_format_strict allows nothing around and one line break between", () => {
  const cases: [string, number][] = [
    ["<think>a</think>\n<answer>4</answer>", 1],
    ["<think>a</think>\n<answer>4</answer>\n", 1],
    ["<think></think>\n<answer></answer>", 1],
    ["<think>a<b</think>\n<answer>4</answer>", 1],
    ["<think>a\nb</think>\n<answer>4\n5</answer>", 1],
    ["<think>a</think>\n<answer>1</answer><answer>2</answer>", 1],
    ["<think>a</think><answer>4</answer>", 0],
    ["<think>a</think>\n<answer>4</answer> x", 0],
    ["<think>a</think>\n<answer>4</answer>\n\n", 0],
    ["<think>a<think>b</think>\n<answer>4</answer>", 0],
    ["<think>a</think>b</think>\n<answer>4</answer>", 0],
    ["x<think>a</think>\n<answer>4</answer>", 0],
    ["<think>a</think>\n<answer></answer", 0],
  ];
  for (const [text, value] of cases) {
    assert.equal(valueOf("rg_format_strict", input(text)), value, text);
  }
});

Deno.test("the short names of secondary rewards are reasoning-gym's", () => {
  assert.deepEqual(SECONDARY_REWARDS, {
    format: "rg_format",
    cosine: "rg_cosine",
    length: "rg_length",
  });
});
