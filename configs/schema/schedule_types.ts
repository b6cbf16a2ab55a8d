/**
 * Types of the values that describe a learning rate schedule, and of the intervals of logging,
 * evaluation and checkpoints.
 */
import { choice, fields, float, int, refine, type ValueType } from "../types/value_types.ts";

/** Parameters of a schedule. Which names each schedule has is checked in `configs/rules/`. */
export interface SchedulerKwargs {
  /**
   * Lowest learning rate, absolute or as a share of learning_rate (cosine…min_lr,
   * warmup_stable_decay).
   */
  min_lr?: number;
  /** The same as a share of learning_rate; at most one of the two is given. */
  min_lr_rate?: number;
  /**
   * Cosine: 0.5 = half a wave (default). cosine_with_restarts: a whole number of restarts, default
   * 1.
   */
  num_cycles?: number;
  /** Polynomial: the exponent, default 1, and the last learning rate (absolute), default 1e-7. */
  power?: number;
  /** Polynomial: the last learning rate (absolute), default 1e-7. */
  lr_end?: number;
  /** inverse_sqrt; default: the number of warm-up steps, or 10000 without warm-up. */
  timescale?: number;
  /** warmup_stable_decay: steps of the decay (required) and of the plateau (default: the rest). */
  num_decay_steps?: number;
  /** warmup_stable_decay: steps of the plateau, default: the rest. */
  num_stable_steps?: number;
  /** warmup_stable_decay: its lowest rate as a share of learning_rate, and how it gets there. */
  min_lr_ratio?: number;
  /** warmup_stable_decay: the form of the rise, default linear. */
  warmup_type?: RampType;
  /** warmup_stable_decay: the form of the fall, default cosine. */
  decay_type?: RampType;
  /** cosine_warmup_with_min_lr: learning rate of the first step as a share of learning_rate. */
  warmup_lr_rate?: number;
}

/** How the learning rate changes over the steps, by the names of transformers. */
export type SchedulerType =
  | "linear"
  | "cosine"
  | "constant"
  | "constant_with_warmup"
  | "cosine_with_min_lr"
  | "cosine_warmup_with_min_lr"
  | "cosine_with_restarts"
  | "polynomial"
  | "inverse_sqrt"
  | "warmup_stable_decay";

/** The form of a rise or fall of the rate; by default the warm-up is linear, the decay a cosine. */
export type RampType = "linear" | "cosine" | "1-sqrt";

const RAMPS = choice<RampType>(["linear", "cosine", "1-sqrt"]);

export const SCHEDULE_PARAMETERS: Readonly<
  Record<SchedulerType, readonly (keyof SchedulerKwargs)[]>
> = {
  linear: [],
  cosine: ["num_cycles"],
  constant: [],
  constant_with_warmup: [],
  cosine_with_min_lr: ["num_cycles", "min_lr", "min_lr_rate"],
  cosine_warmup_with_min_lr: ["num_cycles", "warmup_lr_rate", "min_lr", "min_lr_rate"],
  cosine_with_restarts: ["num_cycles"],
  polynomial: ["power", "lr_end"],
  inverse_sqrt: ["timescale"],
  warmup_stable_decay: [
    ...["num_decay_steps", "num_stable_steps", "warmup_type", "decay_type", "num_cycles"] as const,
    ...["min_lr_ratio", "min_lr", "min_lr_rate"] as const,
  ],
};

export const SCHEDULES: ValueType<SchedulerType> = choice(
  Object.keys(SCHEDULE_PARAMETERS) as SchedulerType[],
  { notYet: ["reduce_lr_on_plateau", "greedy"] },
);

export const SCHEDULE_KWARGS: ValueType<SchedulerKwargs> = {
  ...fields({
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
  }, "a map of parameters of the schedule"),
  ts: "SchedulerKwargs",
};

const isRatioOrSteps = (steps: number) =>
  steps < 1 || Number.isInteger(steps) ? null : "expected a ratio < 1 or whole steps";

export const WARMUP = refine(float({ min: 0 }), isRatioOrSteps);

/** Steps between two events; a value < 1 is a share of all steps. */
export const INTERVAL = refine(float({ above: 0 }), isRatioOrSteps);
