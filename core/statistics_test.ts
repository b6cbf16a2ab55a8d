import assert from "node:assert/strict";
import { mean, quantile, sampleStd } from "./statistics.ts";

const near = (actual: number, expected: number, tolerance = 1e-12) =>
  assert.ok(Math.abs(actual - expected) <= tolerance, `${actual} is not ${expected}`);

Deno.test("means and sample standard deviations, also of too few values", () => {
  near(mean([1, 2, 6]), 3);
  assert.ok(Number.isNaN(mean([])));
  near(sampleStd([1, 2, 6]), Math.sqrt(7));
  assert.ok(Number.isNaN(sampleStd([1])));
});

Deno.test("quantiles interpolate between order statistics", () => {
  near(quantile([3, 1, 2, 4], 0.5), 2.5);
  near(quantile([3, 1, 2, 4], 0.8), 3.4);
  assert.equal(quantile([5], 0.3), 5);
  assert.throws(() => quantile([], 0.5), RangeError);
});
