import assert from "node:assert/strict";
import { measuredRunTime, runTimeText } from "./run_time.ts";

Deno.test("an estimate says what others used while it was made", () => {
  const seconds = 459;
  assert.equal(runTimeText({ seconds, others: null }), "about 7 min 39 s on this machine");
  const alone = { others: 0.02, stolen: 0 }, busy = { others: 0.63, stolen: 0.2 };
  assert.equal(runTimeText({ seconds, others: alone }), "about 7 min 39 s on this machine");
  assert.equal(
    runTimeText({ seconds, others: busy }),
    "about 7 min 39 s while others use 63 % of this machine (its host 20 %)",
  );
});

Deno.test("an estimate is that of the measurement", async () => {
  const { seconds } = await measuredRunTime(() => Promise.resolve(12));
  assert.equal(seconds, 12);
});
