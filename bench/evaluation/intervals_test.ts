import assert from "node:assert/strict";
import { bootstrapMean } from "./intervals.ts";

const near = (a: number, b: number, tolerance = 1e-12) =>
  assert.ok(Math.abs(a - b) <= tolerance, `${a} is not ${b}`);

Deno.test("the bootstrap interval contains the mean, narrows, and is repeatable", () => {
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
