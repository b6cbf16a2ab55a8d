import assert from "node:assert/strict";
import { correlation, mean, quantile, rankCorrelation, ranks, sampleStd } from "./statistics.ts";

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

Deno.test("ranks share equal places, and correlations are numpy's", () => {
  assert.deepEqual([...ranks([3, 1, 3, 2])], [3.5, 1, 3.5, 2]);
  const a = [1, 2, 3, 4, 5, 5], b = [2, 1, 4, 3, 7, 7];
  // numpy's corrcoef, of the values and of their ranks
  near(correlation(a, b), 0.8714212528966688);
  near(rankCorrelation(a, b), 0.8823529411764706);
  assert.ok(Number.isNaN(rankCorrelation([1, 1], [1, 2])));
});
