import assert from "node:assert/strict";
import { measuredRunTime, runTimeText, TimeLeft } from "./plan_text.ts";

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

Deno.test("the time left is right after a twentieth of a run whose first steps are slow", () => {
  const left = new TimeLeft();
  let now = 1000;
  left.phase("eval_before", now);
  left.phase("grpo", now += 5000);
  const steps = 400, twentieth = steps / 20;
  for (let step = 1; step < twentieth; step++) {
    left.step(steps - step, now += step < 5 ? 9000 : 200);
  }
  const seconds = left.step(steps - twentieth, now += 200);
  const right = (steps - twentieth) * 0.2 + 5; // and the evaluation again
  assert.ok(Math.abs(seconds - right) < 0.05 * right, `${seconds} s for ${right} s`);
});

Deno.test("the time left follows completions that become longer", () => {
  const left = new TimeLeft();
  let now = 0, seconds = 0;
  left.phase("grpo", now);
  for (let step = 1; step <= 200; step++) {
    seconds = left.step(400 - step, now += step > 100 ? 2000 : 500);
  }
  assert.ok(Math.abs(seconds - 400) < 20, `${seconds} s`);
});
