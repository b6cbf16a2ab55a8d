/** Durations in words. */
import assert from "node:assert/strict";
import { duration } from "./duration.ts";

Deno.test("a duration is shown in two units at most", () => {
  const times: [number, string][] = [[0.2, "0 s"], [59, "59 s"], [60, "1 min 0 s"]];
  times.push([3599, "59 min 59 s"], [7260, "2 h 1 min"]);
  for (const [seconds, text] of times) assert.equal(duration(seconds), text);
});
