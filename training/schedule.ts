/**
 * Learning-rate schedules, as factors of the base rate (transformers' `get_scheduler`): `k` optimizer steps
 * are already done, so with a warm-up the first step has rate 0.
 */
import type { SchedulerType } from "../configs/run_config.ts";

export interface Schedule {
  type: SchedulerType;
  /** W; a value below 1 is a share of all steps, rounded up. */
  warmupSteps: number;
  /** N */
  totalSteps: number;
}

/** Whole warm-up steps of a schedule. */
export function warmupSteps(schedule: Schedule): number {
  const { warmupSteps, totalSteps } = schedule;
  return warmupSteps < 1 ? Math.ceil(warmupSteps * totalSteps) : Math.floor(warmupSteps);
}

/** λ(k) for k = 0, 1, …, N − 1. */
export function rateFactor(schedule: Schedule, k: number): number {
  const warmup = warmupSteps(schedule);
  // transformers' plain "constant" knows no warm-up.
  if (schedule.type === "constant") return 1;
  if (k < warmup) return k / Math.max(1, warmup);
  const progress = (k - warmup) / Math.max(1, schedule.totalSteps - warmup);
  switch (schedule.type) {
    case "constant_with_warmup":
      return 1;
    case "linear":
      return Math.max(0, 1 - progress);
    case "cosine":
      return Math.max(0, 0.5 * (1 + Math.cos(Math.PI * progress)));
  }
}
