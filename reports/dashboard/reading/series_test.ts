import assert from "node:assert/strict";
import { Series } from "./metrics_file.ts";

function seriesOf(values: readonly number[]): Series {
  const series = new Series();
  values.forEach((value, i) => series.add(i + 1, value));
  return series;
}

Deno.test("a thinned curve keeps its ends and every peak", () => {
  const values = Array.from({ length: 10_000 }, (_, i) => i === 4321 ? 9 : i === 77 ? -9 : i % 2);
  const { steps, values: shown } = seriesOf(values).curve(200, 0);
  assert.ok(steps.length <= 202 && steps.length > 100, `${steps.length}`);
  assert.deepEqual([steps[0], steps.at(-1)], [1, 10_000]);
  assert.equal(shown[steps.indexOf(4322)], 9);
  assert.equal(shown[steps.indexOf(78)], -9);
  assert.deepEqual(steps, steps.toSorted((a, b) => a - b));
});

Deno.test("thinned curves of runs of different lengths share their steps, and keep peaks", () => {
  const values = Array.from({ length: 9000 }, (_, i) => i === 4321 ? 9 : i % 2);
  const of = (length: number) => seriesOf(values.slice(0, length)).curve(200, 0, [0, 1e9], true);
  const whole = of(9000), part = of(8200), known = new Set(whole.steps);
  assert.ok(part.steps.slice(0, -1).every((step) => known.has(step)));
  assert.deepEqual([part.steps.at(-1), part.values.at(-1)], [8200, 1]);
  assert.ok(Math.abs(whole.steps[whole.values.indexOf(9)]! - 4322) <= 64);
  assert.deepEqual(whole.steps, [...known].toSorted((a, b) => a - b));
});

Deno.test("smoothing is the running mean of all steps, also of those that are not shown", () => {
  const values = [0, 1, 0, 1, 1, 1];
  const { smooth } = seriesOf(values).curve(100, 0.5);
  let sum = 0, weights = 0;
  const expected = values.map((value) => {
    sum = 0.5 * sum + 0.5 * value;
    weights = 0.5 * weights + 0.5;
    return Number((sum / weights).toPrecision(6));
  });
  assert.deepEqual(smooth, expected);
  const long = Array.from({ length: 5000 }, (_, i) => i % 2);
  const thin = seriesOf(long).curve(50, 0.99), whole = seriesOf(long).curve(5000, 0.99);
  const at = thin.steps.at(-1)!;
  assert.equal(thin.smooth!.at(-1), whole.smooth![whole.steps.indexOf(at)]);
  assert.equal(seriesOf(values).curve(100, 0).smooth, undefined);
});

Deno.test("a range of steps is cut out, and intervals go along", () => {
  const series = new Series();
  series.add(0, 0.25, [0.2, 0.3]);
  series.add(10, 0.5);
  series.add(20, 0.75, [0.7, 0.8]);
  series.add(21, 1);
  assert.deepEqual(series.curve(10, 0, [5, 20.5]), {
    steps: [10, 20],
    values: [0.5, 0.75],
    low: [null, 0.7],
    high: [null, 0.8],
  });
});
