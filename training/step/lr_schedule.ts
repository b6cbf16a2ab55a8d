/**
 * Learning-rate schedules (transformers 5.23's `get_scheduler`), as factors of the base rate. The
 * factor depends on k, the number of optimizer steps done before, so the first step of a warm-up
 * has rate 0. The exception is cosine_warmup_with_min_lr, whose first step has a rate above 0. Left
 * out: reduce_lr_on_plateau, which needs evaluations.
 */
import type { LoopSection } from "../../configs/schema/run_config.ts";
import type { RampType } from "../../configs/schema/schedule_types.ts";

/** Absolute rates in the parameters are divided by learning_rate. */
export type ScheduleKeys = Pick<
  LoopSection,
  "lr_scheduler_type" | "lr_scheduler_kwargs" | "warmup_steps" | "learning_rate"
>;

export function warmupSteps(steps: number, totalSteps: number): number {
  return steps < 1 ? Math.ceil(steps * totalSteps) : Math.floor(steps);
}

export function rateFactor(keys: ScheduleKeys, totalSteps: number, k: number): number {
  const { lr_scheduler_type: type, lr_scheduler_kwargs: kwargs } = keys;
  const warmup = warmupSteps(keys.warmup_steps, totalSteps);
  // transformers' plain "constant" has no warm-up.
  if (type === "constant") return 1;
  const decay = Math.max(1, totalSteps - warmup);
  const lowest = lowestFactor(keys);
  if (type === "cosine_warmup_with_min_lr") {
    if (k < warmup) {
      const first = kwargs.warmup_lr_rate;
      return first === undefined ? (k + 1) / warmup : above(first, k / Math.max(1, warmup - 1));
    }
    return above(lowest, cosine((k - warmup + 1) / decay, kwargs.num_cycles));
  }
  if (k < warmup) {
    if (type !== "warmup_stable_decay") return k / warmup;
    return above(lowest, rise(kwargs.warmup_type ?? "linear", k / warmup));
  }
  const progress = (k - warmup) / decay;
  switch (type) {
    case "constant_with_warmup":
      return 1;
    case "linear":
      return Math.max(0, 1 - progress);
    case "cosine":
      return cosine(progress, kwargs.num_cycles);
    case "cosine_with_min_lr":
      return above(lowest, cosine(progress, kwargs.num_cycles));
    case "cosine_with_restarts":
      return progress >= 1 ? 0 : cosine(((kwargs.num_cycles ?? 1) * progress) % 1);
    case "polynomial": {
      const end = share(keys, kwargs.lr_end ?? 1e-7);
      if (k > totalSteps) return end;
      return (1 - end) * Math.max(0, 1 - progress) ** (kwargs.power ?? 1) + end;
    }
    case "inverse_sqrt": {
      const scale = kwargs.timescale ?? (warmup || 10_000);
      return 1 / Math.sqrt((k + scale - warmup) / scale);
    }
    case "warmup_stable_decay": {
      const steps = kwargs.num_decay_steps ?? decay;
      const stable = kwargs.num_stable_steps ?? Math.max(0, totalSteps - warmup - steps);
      if (k < warmup + stable) return 1;
      if (k >= warmup + stable + steps) return lowest;
      const progress = (k - warmup - stable) / steps, form = kwargs.decay_type ?? "cosine";
      return above(lowest, fall(form, progress, kwargs.num_cycles));
    }
  }
}

/** A warm-up from 0 to 1. */
function rise(form: RampType, progress: number): number {
  if (form === "linear") return progress;
  return 1 - (form === "cosine" ? cosine(progress) : Math.sqrt(1 - progress));
}

/** A decay from 1 to 0; a cosine with other cycles may end elsewhere. */
function fall(form: RampType, progress: number, cycles?: number): number {
  if (form === "cosine") return cosine(progress, cycles);
  return 1 - (form === "linear" ? progress : Math.sqrt(progress));
}

/** A cosine wave between 1 and 0; by default half a wave, which falls from 1 to 0. */
function cosine(progress: number, cycles = 0.5): number {
  return Math.max(0, 0.5 * (1 + Math.cos(2 * Math.PI * cycles * progress)));
}

function above(lowest: number, factor: number): number {
  return factor * (1 - lowest) + lowest;
}

function lowestFactor(keys: ScheduleKeys): number {
  const { min_lr_rate, min_lr_ratio, min_lr: absolute } = keys.lr_scheduler_kwargs;
  const relative = min_lr_rate ?? min_lr_ratio;
  return relative ?? (absolute === undefined ? 0 : share(keys, absolute));
}

/** An absolute rate as a factor of the base rate; 0 where the base rate is 0. */
function share({ learning_rate: base }: ScheduleKeys, rate: number): number {
  return base === 0 ? 0 : rate / base;
}

export function rateAt(keys: ScheduleKeys, totalSteps: number, done: number): number {
  return keys.learning_rate * rateFactor(keys, totalSteps, done);
}
