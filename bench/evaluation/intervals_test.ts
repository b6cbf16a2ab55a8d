import assert from "node:assert/strict";
import { wilson } from "../../core/intervals.ts";
import { RandomStream } from "../../core/philox.ts";
import { averageAccuracy, bootstrapMean } from "./intervals.ts";

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

const result = (correct: number, total: number) => ({
  accuracy: correct / total,
  ci95: wilson(correct, total),
});

Deno.test("the average of one task is that task; without tasks it is unknown", () => {
  const one = averageAccuracy([result(3, 10)]), [low, high] = result(3, 10).ci95;
  assert.equal(one.accuracy, 0.3);
  assert.ok(Math.abs(one.ci95[0] - low) < 1e-15 && Math.abs(one.ci95[1] - high) < 1e-15);
  assert.deepEqual(averageAccuracy([]), { accuracy: NaN, ci95: [0, 1] });
});

Deno.test("an average of zeros still has an upper end", () => {
  const { accuracy, ci95 } = averageAccuracy([result(0, 20), result(0, 20)]);
  assert.equal(accuracy, 0);
  assert.equal(ci95[0], 0);
  assert.ok(Math.abs(ci95[1] - wilson(0, 20)[1] / Math.SQRT2) < 1e-12);
});

Deno.test("the interval contains the true average in about 95 of 100 repetitions", () => {
  const truth = [0.02, 0.3, 0.5, 0.9, 1], average = 0.544;
  const random = RandomStream.forPurpose(1, "shuffle", "average");
  let inside = 0;
  const repetitions = 2000;
  for (let r = 0; r < repetitions; r++) {
    const { ci95: [low, high] } = averageAccuracy(truth.map((p) => {
      let correct = 0;
      for (let i = 0; i < 30; i++) if (random.random() < p) correct++;
      return result(correct, 30);
    }));
    if (low <= average && average <= high) inside++;
  }
  assert.ok(inside / repetitions > 0.93 && inside / repetitions < 0.985, `${inside}`);
});
