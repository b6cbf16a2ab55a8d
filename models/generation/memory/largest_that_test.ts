import assert from "node:assert/strict";
import { largestThat } from "./largest_that.ts";

Deno.test("the largest number that works is found from any first try", async () => {
  for (const most of [1, 2, 7, 100]) {
    for (let limit = 0; limit <= most + 1; limit++) {
      for (const first of [undefined, 1, 3, 200]) {
        for (const left of [(n: number) => limit - n, (n: number) => n > limit ? -1 : Infinity]) {
          let tries = 0;
          const found = await largestThat(most, (n) => {
            tries++;
            assert.ok(Number.isInteger(n) && n >= 1 && n <= most, `${n} of ${most}`);
            return left(n);
          }, first);
          assert.equal(found, Math.min(limit, most));
          assert.ok(tries <= 16, `${tries}`);
        }
      }
    }
  }
});

Deno.test("what grows evenly is found in few tries", async () => {
  let tries = 0;
  const left = (n: number) => {
    tries++;
    return 8e10 - 3e9 - 1.7e8 * n;
  };
  assert.equal(await largestThat(2 ** 16, left, 8), 452);
  assert.ok(tries <= 11, `${tries}`);
});
