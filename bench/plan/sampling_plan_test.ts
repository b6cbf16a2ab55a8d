import assert from "node:assert/strict";
import type { RunConfig } from "../../configs/schema/run_config.ts";
import { samplingOf } from "./model_plan.ts";

const run = (training: Partial<RunConfig["training"]>) =>
  ({
    training: {
      max_completion_length: 64,
      repetition_penalty: 1,
      stop: [],
      min_new_tokens: 0,
      ...training,
    },
  }) as unknown as RunConfig;

Deno.test("runs count as equal in settings that the user gives", () => {
  const runs = [
    run({ repetition_penalty: 1.2, min_new_tokens: 2 }),
    run({ repetition_penalty: 1.1, min_new_tokens: 2, max_completion_length: 80 }),
  ];
  const warnings: string[] = [];
  const undecided = samplingOf({}, runs, warnings);
  assert.deepEqual([undecided.repetition_penalty, undecided.min_new_tokens], [1, undefined]);
  assert.match(warnings.join(), /the runs differ in repetition_penalty/);

  const none: string[] = [];
  const decided = samplingOf({ repetition_penalty: 1.3 }, runs, none);
  assert.deepEqual([decided.repetition_penalty, decided.min_new_tokens], [1.3, 2]);
  assert.equal(decided.max_new_tokens, 80);
  assert.deepEqual(none, []);
});

Deno.test("several samples at temperature 0 are one, and a warning says so", () => {
  const warnings: string[] = [];
  const greedy = samplingOf({ samples: 3, temperature: 0 }, [], warnings);
  assert.deepEqual([greedy.samples, greedy.temperature], [1, 0]);
  assert.deepEqual(warnings, [
    "at temperature 0 all 3 samples of a problem are the same: each is asked once",
  ]);
  const drawn: string[] = [];
  assert.equal(samplingOf({ samples: 3 }, [], drawn).samples, 3);
  assert.equal(samplingOf({ samples: 1, temperature: 0 }, [], drawn).samples, 1);
  assert.deepEqual(drawn, []);
});
