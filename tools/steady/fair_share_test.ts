import assert from "node:assert/strict";
import { fairShare } from "./fair_share.ts";

Deno.test("cores are divided among all, and what one does not want goes to the others", () => {
  const near = (a: number, b: number) => assert.ok(Math.abs(a - b) < 1e-12, `${a}, not ${b}`);
  // Threads that want a whole core each.
  near(fairShare(2, [1, 1]), 1);
  near(fairShare(2, [1, 1, 1]), 2 / 3);
  near(fairShare(2, [1, 1, 1, 1, 1, 1]), 1 / 3);
  // One that sleeps half of the time leaves the rest.
  near(fairShare(2, [1, 1, 0.5]), 0.75);
  near(fairShare(2, [1, 1, 0.5, 0.5, 0.5, 0.5]), 1 / 3);
  // A program with two threads as one among groups.
  near(fairShare(2, [2, 1]), 0.5);
  near(fairShare(2, [2, 1, 1]), 1 / 3);
  near(fairShare(4, [2, 1]), 1);
});
