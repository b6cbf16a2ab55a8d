import assert from "node:assert/strict";
import { publishedFormat } from "../../data/published_formats.ts";
import {
  bootstrapMean,
  majorityIndex,
  mcnemarExact,
  pairedTest,
  passAtK,
  passLevels,
} from "./statistics.ts";

const near = (a: number, b: number, tolerance = 1e-12) =>
  assert.ok(Math.abs(a - b) <= tolerance, `${a} is not ${b}`);

Deno.test("pass@k is the share of subsets of k samples with a correct one", () => {
  const count = (n: number, c: number, k: number): number => {
    let hits = 0, all = 0;
    for (let mask = 0; mask < 1 << n; mask++) {
      let size = 0;
      for (let m = mask; m > 0; m &= m - 1) size++;
      if (size !== k) continue;
      all++;
      if ((mask & ((1 << c) - 1)) !== 0) hits++;
    }
    return hits / all;
  };
  for (const n of [1, 2, 5, 8]) {
    for (let c = 0; c <= n; c++) {
      for (let k = 1; k <= n; k++) near(passAtK(n, c, k), count(n, c, k));
    }
  }
  assert.throws(() => passAtK(2, 1, 3), RangeError);
  assert.deepEqual([1, 2, 5, 8].map(passLevels), [[1], [1, 2], [1, 2, 4, 5], [1, 2, 4, 8]]);
});

Deno.test("McNemar's exact p-value: known values, symmetric, and stable for many pairs", () => {
  near(mcnemarExact(0, 0), 1);
  near(mcnemarExact(0, 5), 0.0625);
  near(mcnemarExact(1, 9), 22 / 1024);
  near(mcnemarExact(3, 3), 1);
  near(mcnemarExact(9, 1), mcnemarExact(1, 9));
  const many = mcnemarExact(2000, 2200);
  assert.ok(many > 0.001 && many < 0.01, String(many));
});

Deno.test("the bootstrap interval holds the mean, narrows with more values and repeats itself", () => {
  const values = Array.from({ length: 400 }, (_, i) => (i % 4) / 3);
  const [low, high] = bootstrapMean(values);
  assert.ok(low < 0.5 && high > 0.5);
  // Normal approximation: ± 1.96 · 0.3727 / 20.
  near(high - low, 2 * 1.96 * 0.3727 / 20, 0.006);
  assert.deepEqual(bootstrapMean(values), [low, high]);
  const [a, b] = bootstrapMean(values.slice(0, 40));
  assert.ok(b - a > high - low);
  assert.deepEqual(bootstrapMean([0.5, 0.5]), [0.5, 0.5]);
  assert.deepEqual(bootstrapMean([]), [0, 1]);
});

Deno.test("the paired test sees a difference that unpaired intervals would hide", () => {
  const first = Array.from({ length: 200 }, (_, i) => i < 100 ? 1 : 0);
  const second = first.map((value, i) => i >= 100 && i < 112 ? 1 : value);
  const test = pairedTest(first, second);
  near(test.difference, 0.06);
  assert.deepEqual([test.only_first, test.only_second, test.n], [0, 12, 200]);
  near(test.p_value, 2 * 2 ** -12);
  assert.ok(test.ci95[0] > 0.02 && test.ci95[1] < 0.11);
  assert.throws(() => pairedTest([1], []), RangeError);
});

Deno.test("shares of correct samples are compared by flipping signs", () => {
  const first = Array.from({ length: 30 }, (_, i) => (i % 3) / 4);
  const better = first.map((value) => value + 0.25);
  assert.ok(pairedTest(first, better).p_value < 0.001);
  const noise = first.map((value, i) => value + (i % 2 === 0 ? 0.25 : -0.25));
  assert.ok(pairedTest(first, noise).p_value > 0.5);
});

Deno.test("the majority is the answer given most often, the first of equals, never none", () => {
  assert.equal(majorityIndex(["a", "b", "b", null, null, null]), 1);
  assert.equal(majorityIndex(["x", "y"]), 0);
  assert.equal(majorityIndex([null, null]), -1);
  assert.equal(majorityIndex([]), -1);
  // Spellings of one answer vote together where answers are compared by what they mean.
  const answers = ["3", "7", "1/2", "7", "0.5", "\\frac{1}{2}"];
  assert.equal(majorityIndex(answers), 1);
  assert.equal(majorityIndex(answers, publishedFormat("math500")!.same), 2);
  const letters = ["?", "!", "(B)", "C", "B. two"];
  assert.equal(majorityIndex(letters, publishedFormat("mmlu_pro")!.same), 2);
});
