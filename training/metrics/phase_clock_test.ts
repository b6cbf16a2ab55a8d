import assert from "node:assert/strict";
import { PhaseClock } from "./phase_clock.ts";

Deno.test("making a problem has a phase of its own, outside of the others", async () => {
  const clock = new PhaseClock({ problems: 1, generate: 2 });
  const wait = () => {
    const end = performance.now() + 2;
    while (performance.now() < end);
    return "problem";
  };
  assert.equal(clock.problem(wait), "problem");
  const before = clock.totals();
  assert.ok(before.problems > 1 && before.generate === 2);
  await clock.time("generate", () => clock.problem(wait));
  assert.ok(clock.totals().generate > 2);
  assert.equal(clock.totals().problems, before.problems, "no time counts twice");
  assert.deepEqual(Object.keys(clock.lap()).sort(), ["generate", "problems"]);
  assert.throws(() => clock.problem(() => assert.fail("no problem")), /no problem/);
});
