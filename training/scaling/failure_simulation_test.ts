import assert from "node:assert/strict";
import { dalyInterval, expectedSlowdown } from "./checkpoint_interval.ts";
import { simulate, type SimulatedJob } from "./failure_simulation.ts";
import { meanSlowest, normalQuantile, slowestFactor } from "./stragglers.ts";

const JOB: SimulatedJob = {
  ranks: 8,
  steps: 2000,
  step: 10,
  saveSteps: 20,
  sigma: 0,
  betweenFailures: 3600,
  checkpoint: 5,
  restart: 60,
};

Deno.test("without failures and stragglers a run takes its steps and checkpoints", () => {
  const { seconds, failures, lost, waiting } = simulate({ ...JOB, betweenFailures: 1e15 }, 3);
  assert.equal(seconds, 2000 * 10 + 100 * 5);
  assert.deepEqual([failures, waiting], [0, 0]);
  assert.ok(Math.abs(lost - 500 / 20_500) < 1e-12);
});

Deno.test("the simulation agrees with Daly's formula, whose time can be divided", () => {
  for (const betweenFailures of [1800, 3600, 20_000]) {
    for (const saveSteps of [5, 20, 100]) {
      const job = { ...JOB, betweenFailures, saveSteps };
      const { seconds, error } = simulate(job, 300);
      const expected = 20_000 * expectedSlowdown(10 * saveSteps, job);
      // Daly's runs fail during a restart too, as these do.
      assert.ok(
        Math.abs(seconds - expected) < 4 * error + 0.01 * expected,
        `${betweenFailures} s, every ${saveSteps}: ${seconds} ± ${error}, expected ${expected}`,
      );
    }
  }
});

Deno.test("Daly's interval loses least in the simulation, up to its noise", () => {
  const best = Math.round(dalyInterval(JOB) / JOB.step);
  const lost = (saveSteps: number) => simulate({ ...JOB, saveSteps }, 300).lost;
  const least = lost(best);
  for (const factor of [1 / 8, 1 / 3, 3, 8]) {
    assert.ok(lost(Math.max(1, Math.round(best * factor))) > least, `${factor} × ${best}`);
  }
});

Deno.test("equal seeds give equal times, others give others", () => {
  assert.deepEqual(simulate(JOB, 5), simulate(JOB, 5));
  assert.notEqual(simulate(JOB, 5).seconds, simulate(JOB, 5, 43).seconds);
});

Deno.test("ranks wait for the slowest one: the mean of the largest of so many", () => {
  assert.ok(Math.abs(normalQuantile(0.975) - 1.959963984540054) < 1e-8);
  assert.ok(Math.abs(normalQuantile(0.001) + 3.090232306167813) < 1e-8);
  assert.equal(slowestFactor(0.3, 5, 0), 1);
  assert.ok(Math.abs(meanSlowest(1, 0.05) - 1) < 1e-3);
  // The largest of 1024 standard normal values is 3.26 on average, of 8 it is 1.42.
  assert.ok(Math.abs(meanSlowest(1024, 0.05) - Math.exp(0.05 * 3.26)) < 0.01);
  assert.ok(Math.abs(meanSlowest(8, 0.05) - Math.exp(0.05 * 1.42)) < 0.005);
  const { waiting } = simulate({ ...JOB, sigma: 0.05, betweenFailures: 1e15 }, 3);
  assert.ok(Math.abs(waiting - (1 - 1 / meanSlowest(8, 0.05))) < 0.005, `${waiting}`);
});
