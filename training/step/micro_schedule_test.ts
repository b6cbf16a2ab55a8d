import assert from "node:assert/strict";
import { MicroSchedule } from "./micro_schedule.ts";

const make = (
  accumulation: number,
  stepsPerGeneration: number,
  iterations: number,
  generationsPerEpoch = 3,
) => new MicroSchedule({ accumulation, stepsPerGeneration, iterations, generationsPerEpoch });

const text = (schedule: MicroSchedule, steps: number) =>
  Array.from(
    { length: steps },
    (_, k) =>
      schedule.microBatches(k).map(({ generation, slice }) => `${generation}.${slice}`).join(" "),
  );

Deno.test("a generation batch is cut into SPG slices, which are trained on μ times", () => {
  assert.deepEqual(text(make(1, 2, 2), 5), ["0.0", "0.1", "0.0", "0.1", "1.0"]);
  assert.deepEqual(text(make(2, 4, 1), 3), ["0.0 0.1", "0.2 0.3", "1.0 1.1"]);
  assert.deepEqual(text(make(2, 2, 3), 4), ["0.0 0.1", "0.0 0.1", "0.0 0.1", "1.0 1.1"]);
  assert.deepEqual(make(2, 4, 1).inFlight(1), { generation: 0, position: 2 });
  assert.deepEqual(make(1, 2, 2).inFlight(7), { generation: 1, position: 3 });
  assert.equal(make(1, 2, 2).inFlight(8), null);
});

Deno.test("the last step of an epoch takes what is left", () => {
  const schedule = make(4, 2, 1); // 6 micro-batches an epoch
  assert.deepEqual(text(schedule, 3), ["0.0 0.1 1.0 1.1", "2.0 2.1", "3.0 3.1 4.0 4.1"]);
  assert.equal(schedule.stepsPerEpoch, 2);
  assert.equal(schedule.epoch(1), 4 / 6);
  assert.equal(schedule.epoch(2), 1);
  assert.equal(schedule.inFlight(2), null);
});

Deno.test("old log-probabilities are needed unless GA is a multiple of SPG·μ", () => {
  const needed = [[1, 1, 1, false], [2, 4, 1, true], [2, 2, 2, true], [4, 2, 2, false], [
    4,
    1,
    3,
    true,
  ]] as const;
  for (const [ga, spg, mu, expected] of needed) {
    assert.equal(make(ga, spg, mu).needsOldLogp, expected, `${ga} ${spg} ${mu}`);
  }
});

Deno.test("every slice of an epoch is trained on μ times, whatever the sizes", () => {
  for (const ga of [1, 2, 3, 5]) {
    for (const spg of [1, 2, 3]) {
      for (const mu of [1, 2, 3]) {
        const schedule = make(ga, spg, mu, 4);
        const counts = new Map<string, number>();
        for (const step of text(schedule, 2 * schedule.stepsPerEpoch)) {
          for (const part of step.split(" ")) counts.set(part, (counts.get(part) ?? 0) + 1);
        }
        assert.equal(counts.size, 8 * spg);
        assert.ok([...counts.values()].every((count) => count === mu));
        let done = 0;
        for (let k = 0; k <= 2 * schedule.stepsPerEpoch; k++) {
          assert.equal(schedule.microSteps(k), done);
          assert.equal(schedule.inFlight(k)?.position ?? 0, done % (spg * mu));
          done += schedule.microBatches(k).length;
        }
      }
    }
  }
});
