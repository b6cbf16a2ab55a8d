/**
 * Types of the values that describe a learning rate schedule, and of the intervals of logging,
 * evaluation and checkpoints.
 */
import type { SchedulerKwargs } from "./sections/schedule.ts";
import { choice, fields, float, int, refine } from "../types/value_types.ts";

export const SCHEDULES = choice([
  "linear",
  "cosine",
  "constant",
  "constant_with_warmup",
  "cosine_with_min_lr",
  "cosine_warmup_with_min_lr",
  "cosine_with_restarts",
  "polynomial",
  "inverse_sqrt",
  "warmup_stable_decay",
], { notYet: ["reduce_lr_on_plateau", "greedy"] });

const RAMPS = choice(["linear", "cosine", "1-sqrt"]);

export const SCHEDULE_KWARGS = fields<SchedulerKwargs>({
  min_lr: float({ min: 0 }),
  min_lr_rate: float({ min: 0, max: 1 }),
  num_cycles: float({ above: 0 }),
  power: float({ above: 0 }),
  lr_end: float({ min: 0 }),
  timescale: float({ above: 0 }),
  num_decay_steps: int({ min: 1 }),
  num_stable_steps: int({ min: 0 }),
  min_lr_ratio: float({ min: 0, max: 1 }),
  warmup_type: RAMPS,
  decay_type: RAMPS,
  warmup_lr_rate: float({ min: 0, max: 1 }),
}, "a map of parameters of the schedule");

export const WARMUP = refine(
  float({ min: 0 }),
  (steps) => steps < 1 || Number.isInteger(steps) ? null : "expected a ratio < 1 or whole steps",
);

/** Steps between two events; a value < 1 is a share of all steps. */
export const INTERVAL = refine(
  float({ above: 0 }),
  (steps) => steps < 1 || Number.isInteger(steps) ? null : "expected a ratio < 1 or whole steps",
);
