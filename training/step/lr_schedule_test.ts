import assert from "node:assert/strict";
import type { SchedulerKwargs, SchedulerType } from "../../configs/schema/schedule_types.ts";
import { rateFactor, type ScheduleKeys, warmupSteps } from "./lr_schedule.ts";

type Schedule = ScheduleKeys & { totalSteps: number };

const make = (type: SchedulerType, changes: Partial<Schedule> = {}): Schedule => ({
  lr_scheduler_type: type,
  warmup_steps: 2,
  totalSteps: 8,
  lr_scheduler_kwargs: {},
  learning_rate: 1e-3,
  ...changes,
});
const factor = (schedule: Schedule, k: number) => rateFactor(schedule, schedule.totalSteps, k);
const factors = (schedule: Schedule) =>
  Array.from({ length: schedule.totalSteps }, (_, k) => factor(schedule, k));
const assertClose = (found: number[], expected: number[], what: string, limit = 1e-6) => {
  assert.equal(found.length, expected.length);
  for (const [k, factor] of found.entries()) {
    assert.ok(Math.abs(factor - expected[k]!) < limit, `${what} ${k}: ${factor}`);
  }
};

Deno.test("schedules equal transformers' factors for W = 2, N = 8", () => {
  const expected: Record<SchedulerType, [number[], SchedulerKwargs?]> = {
    linear: [[0, .5, 1, .833333, .666667, .5, .333333, .166667]],
    cosine: [[0, .5, 1, .933013, .75, .5, .25, .066987]],
    constant: [[1, 1, 1, 1, 1, 1, 1, 1]],
    constant_with_warmup: [[0, .5, 1, 1, 1, 1, 1, 1]],
    cosine_with_min_lr: [[0, .5, 1, .939711, .775, .55, .325, .160289], { min_lr_rate: .1 }],
    cosine_warmup_with_min_lr: [
      [.5, 1, .939711, .775, .55, .325, .160289, .1],
      { min_lr_rate: .1 },
    ],
    cosine_with_restarts: [[0, .5, 1, .75, .25, 1, .75, .25], { num_cycles: 2 }],
    polynomial: [[0, .5, 1, .833350, .666700, .50005, .333400, .166750]],
    inverse_sqrt: [[0, .5, 1, .816497, .707107, .632456, .57735, .534522]],
    warmup_stable_decay: [[0, .5, 1, 1, 1, 1, .75, .25], { num_decay_steps: 3 }],
  };
  for (const [type, [values, kwargs = {}]] of Object.entries(expected)) {
    assertClose(
      factors(make(type as SchedulerType, { lr_scheduler_kwargs: kwargs })),
      values,
      type,
    );
  }
});

Deno.test("parameters of the schedules", () => {
  const at = (type: SchedulerType, kwargs: SchedulerKwargs, changes: Partial<Schedule> = {}) =>
    factors(make(type, { lr_scheduler_kwargs: kwargs, ...changes }));
  // An absolute lower bound is a share of the base rate.
  assertClose(
    at("cosine_with_min_lr", { min_lr: 1e-4 }),
    at("cosine_with_min_lr", { min_lr_rate: .1 }),
    "min_lr",
    1e-15,
  );
  assertClose(at("cosine", { num_cycles: 1 }).slice(2), [1, .75, .25, 0, .25, .75], "num_cycles");
  assertClose(
    at("polynomial", { power: 2, lr_end: 0 }).slice(2),
    [1, 25 / 36, 16 / 36, 9 / 36, 4 / 36, 1 / 36],
    "power",
  );
  assertClose(at("inverse_sqrt", { timescale: 6 }).slice(2, 4), [1, Math.sqrt(6 / 7)], "timescale");
  const none = { warmup_steps: 0 };
  assertClose(at("inverse_sqrt", {}, none).slice(0, 2), [1, Math.sqrt(1e4 / 10001)], "no warm-up");
  assertClose(
    at("cosine_warmup_with_min_lr", { min_lr_rate: .1, warmup_lr_rate: .2 }).slice(0, 3),
    [.2, 1, .939711],
    "warmup_lr_rate",
  );
  assertClose(
    at("warmup_stable_decay", { num_decay_steps: 2, num_stable_steps: 1, min_lr_rate: .1 }),
    [.1, .55, 1, 1, .55, .1, .1, .1],
    "stable steps",
  );
  // transformers' get_wsd_schedule with 4 steps of warm-up, 10 steps, and these arguments.
  const wsd = (kwargs: SchedulerKwargs) =>
    at("warmup_stable_decay", { num_decay_steps: 4, ...kwargs }, {
      warmup_steps: 4,
      totalSteps: 10,
    });
  const ramps: [SchedulerKwargs, number[]][] = [
    [{ min_lr_ratio: 0.1, warmup_type: "cosine", decay_type: "linear" }, [
      0.1,
      0.2318019,
      0.55,
      0.8681981,
      1.0,
      1.0,
      1.0,
      0.775,
      0.55,
      0.325,
    ]],
    [{ min_lr_ratio: 0.2, warmup_type: "1-sqrt", decay_type: "1-sqrt" }, [
      0.2,
      0.3071797,
      0.4343146,
      0.6,
      1.0,
      1.0,
      1.0,
      0.6,
      0.4343146,
      0.3071797,
    ]],
    [{ warmup_type: "linear", decay_type: "cosine", num_cycles: 1.5 }, [
      0.0,
      0.25,
      0.5,
      0.75,
      1.0,
      1.0,
      1.0,
      0.1464466,
      0.5,
      0.8535534,
    ]],
  ];
  for (const [kwargs, values] of ramps) assertClose(wsd(kwargs), values, JSON.stringify(kwargs));
});

Deno.test("a warm-up below 1 is a share of all steps, rounded up", () => {
  assert.equal(warmupSteps(0.25, 10), 3);
  assert.equal(warmupSteps(0, 10), 0);
  assert.equal(warmupSteps(1, 10), 1);
  assert.deepEqual(factors(make("linear", { warmup_steps: 0.25 })), factors(make("linear")));
});

Deno.test("without a warm-up the first step has the full rate, even if it is the only one", () => {
  assert.equal(factor(make("linear", { warmup_steps: 0, totalSteps: 3 }), 0), 1);
  assert.equal(factor(make("cosine", { warmup_steps: 0, totalSteps: 1 }), 0), 1);
  assert.equal(factor(make("linear", { warmup_steps: 2, totalSteps: 2 }), 1), 0.5);
});
