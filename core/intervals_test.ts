import assert from "node:assert/strict";
import { differenceInterval, wilson } from "./intervals.ts";

const near = (actual: number, expected: number, tolerance = 1e-12) =>
  assert.ok(Math.abs(actual - expected) <= tolerance, `${actual} is not ${expected}`);

Deno.test("Wilson's interval equals published values and stays in [0, 1]", () => {
  // Newcombe 1998, table I, method 3: 81 of 263, 15 of 148, 0 of 20, 1 of 29.
  for (
    const [x, n, low, high] of [[81, 263, 0.2553, 0.3662], [15, 148, 0.0624, 0.1605], [
      0,
      20,
      0,
      0.1611,
    ], [1, 29, 0.0061, 0.1718]] as const
  ) {
    const interval = wilson(x, n);
    near(interval[0], low, 6e-5);
    near(interval[1], high, 6e-5);
  }
  assert.deepEqual(wilson(0, 0), [0, 1]);
  assert.equal(wilson(7, 7)[1], 1);
  assert.throws(() => wilson(3, 2), RangeError);
});

Deno.test("Newcombe's interval of a difference equals published values", () => {
  // Newcombe 1998 (differences), table II, method 10: 56/70 − 48/80 and 9/10 − 3/10.
  const a = differenceInterval({ successes: 48, total: 80 }, { successes: 56, total: 70 });
  near(a[0], 0.0524, 6e-5);
  near(a[1], 0.3339, 6e-5);
  const b = differenceInterval({ successes: 3, total: 10 }, { successes: 9, total: 10 });
  near(b[0], 0.1705, 6e-5);
  near(b[1], 0.8090, 6e-5);
});
