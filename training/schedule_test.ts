import assert from "node:assert/strict";
import type { SchedulerType } from "../configs/run_config.ts";
import { rateFactor, warmupSteps } from "./schedule.ts";

const factors = (type: SchedulerType, warmup = 2, totalSteps = 8) =>
  Array.from(
    { length: totalSteps },
    (_, k) => rateFactor({ type, warmupSteps: warmup, totalSteps }, k),
  );

Deno.test("schedules equal transformers' factors for W = 2, N = 8", () => {
  const expected: Record<SchedulerType, number[]> = {
    linear: [0, .5, 1, .833333, .666667, .5, .333333, .166667],
    cosine: [0, .5, 1, .933013, .75, .5, .25, .066987],
    constant: [1, 1, 1, 1, 1, 1, 1, 1],
    constant_with_warmup: [0, .5, 1, 1, 1, 1, 1, 1],
  };
  for (const [type, values] of Object.entries(expected)) {
    for (const [k, factor] of factors(type as SchedulerType).entries()) {
      assert.ok(Math.abs(factor - values[k]!) < 1e-6, `${type} ${k}: ${factor}`);
    }
  }
});

Deno.test("a warm-up below 1 is a share of all steps, rounded up", () => {
  assert.equal(warmupSteps({ type: "linear", warmupSteps: 0.25, totalSteps: 10 }), 3);
  assert.equal(warmupSteps({ type: "linear", warmupSteps: 0, totalSteps: 10 }), 0);
  assert.equal(warmupSteps({ type: "linear", warmupSteps: 1, totalSteps: 10 }), 1);
  assert.deepEqual(factors("linear", 0.25, 8), factors("linear", 2, 8));
});

Deno.test("without a warm-up the first step has the full rate, also in a run of one step", () => {
  assert.equal(rateFactor({ type: "linear", warmupSteps: 0, totalSteps: 3 }, 0), 1);
  assert.equal(rateFactor({ type: "cosine", warmupSteps: 0, totalSteps: 1 }, 0), 1);
  assert.equal(rateFactor({ type: "linear", warmupSteps: 2, totalSteps: 2 }, 1), 0.5);
});
