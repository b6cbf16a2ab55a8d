import assert from "node:assert/strict";
import { mcnemarExact, pairedTest } from "./matched_pairs.ts";

const near = (a: number, b: number, tolerance = 1e-12) =>
  assert.ok(Math.abs(a - b) <= tolerance, `${a} is not ${b}`);

Deno.test("McNemar's exact p-value: known values, symmetric, and stable for many pairs", () => {
  near(mcnemarExact(0, 0), 1);
  near(mcnemarExact(0, 5), 0.0625);
  near(mcnemarExact(1, 9), 22 / 1024);
  near(mcnemarExact(3, 3), 1);
  near(mcnemarExact(9, 1), mcnemarExact(1, 9));
  const many = mcnemarExact(2000, 2200);
  assert.ok(many > 0.001 && many < 0.01, String(many));
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
