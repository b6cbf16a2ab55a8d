import assert from "node:assert/strict";
import { RandomStream } from "../../core/philox.ts";
import { wilson } from "../../core/intervals.ts";
import { averageAccuracy } from "../evaluation/intervals.ts";

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
