/** Waits in time during which the process could run. */
import assert from "node:assert/strict";
import { runningTimeout, runningWait } from "./running_time.ts";

/** Nothing else of this thread runs meanwhile, as in a suspended process. */
const pause = (ms: number) => {
  for (const end = performance.now() + ms; performance.now() < end;);
};

Deno.test("a limit does not count a pause of the whole program, and ends without one", async () => {
  const events: string[] = [], { promise, resolve } = Promise.withResolvers<void>();
  runningTimeout(() => (events.push("late"), resolve()), 300);
  const stop = runningTimeout(() => events.push("never"), 200);
  pause(500);
  await new Promise((done) => setTimeout(done, 50));
  events.push("paused");
  stop();
  await promise;
  assert.deepEqual(events, ["paused", "late"]);
});

Deno.test("a thread that waits for shared memory learns that it changed, or waits its time", () => {
  const words = new Int32Array(new SharedArrayBuffer(4)), start = performance.now();
  assert.equal(runningWait(words, 0, 1, 1000), "not-equal");
  assert.ok(performance.now() - start < 500);
  assert.equal(runningWait(words, 0, 0, 100), "timed-out");
  assert.ok(performance.now() - start >= 100);
});
