import assert from "node:assert/strict";
import { dalyInterval, expectedSlowdown, type SaveTimes, youngInterval } from "./scaling_plan.ts";

const near = (found: number, expected: number, tolerance: number) =>
  assert.ok(Math.abs(found / expected - 1) <= tolerance, `${found}, expected ${expected}`);

/** The interval with the smallest expected time, by trying. */
function bestInterval(times: SaveTimes): number {
  let best = 1, least = Infinity;
  for (let interval = 1; interval < 20 * times.betweenFailures; interval *= 1.001) {
    const slowdown = expectedSlowdown(interval, times);
    if (slowdown < least) [best, least] = [interval, slowdown];
  }
  return best;
}

Deno.test("Daly's interval is the best one; Young's is where failures are rare", () => {
  for (const betweenFailures of [600, 3600, 86_400, 2.6e6]) {
    for (const checkpoint of [0.5, 5, 60]) {
      const times = { betweenFailures, checkpoint, restart: 300 };
      near(dalyInterval(times), bestInterval(times), 0.01);
      if (checkpoint < betweenFailures / 10_000) {
        near(youngInterval(times), bestInterval(times), 0.02);
      }
    }
  }
});

Deno.test("a checkpoint that takes longer than two failures is written once between failures", () => {
  assert.equal(dalyInterval({ betweenFailures: 10, checkpoint: 20, restart: 0 }), 10);
});

Deno.test("without failures a run is longer by its checkpoints alone", () => {
  const times = { betweenFailures: 1e12, checkpoint: 5, restart: 300 };
  near(expectedSlowdown(100, times), 1.05, 1e-6);
});
