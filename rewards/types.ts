/** The protocol of a reward: one object in, a number (or null = not applicable) out. */
import type { ParamSpec, ScorableEntry } from "../tasks/types.ts";

/** What a cell of an extra column of the completions table may hold. */
export type ExtraValue = string | number | boolean | null;

/** One completion to be scored, and all that is known about it. */
export interface RewardSample {
  /** Prompt and completion as text, special tokens skipped. */
  prompt: string;
  completion: string;
  /** The entry's answer and metadata. */
  answer: string | null;
  info: Record<string, unknown>;
  entry: ScorableEntry;
  completionIds: readonly number[];
  /** The completion did not end by itself. */
  truncated: boolean;
  step: number;
  maxCompletionLength: number;
}

/** What a reward gets: the sample, and two ways to leave a note about it. */
export interface RewardInput extends RewardSample {
  /** A finite number for the metrics of this step, under `name`; several of one step are averaged. */
  log(name: string, value: number): void;
  /** The value of this completion in an extra column of the completions table. */
  logExtra(column: string, value: ExtraValue): void;
}

/** null: the reward does not apply to this sample, which then counts neither 0 nor anything else. */
export type RewardValue = number | null;

interface RewardBase {
  name: string;
  /** Name in metrics and tables where it differs from `name`. */
  metric?: string;
  description: string;
  /** Weight of a section that names none; default 1. */
  defaultWeight?: number;
  params: Readonly<Record<string, ParamSpec>>;
}

/** Looks at one completion at a time. */
export interface SampleReward extends RewardBase {
  compute(
    input: RewardInput,
    params: Record<string, unknown>,
  ): RewardValue | Promise<RewardValue>;
}

/** Wants to see all completions of a step at once; the groups of a prompt stand together. */
export interface BatchReward extends RewardBase {
  /** One value for each item, in their order. */
  computeBatch(
    items: readonly RewardInput[],
    params: Record<string, unknown>,
  ): RewardValue[] | Promise<RewardValue[]>;
}

/** A reward: looks at one completion at a time, or at all of a step. */
export type Reward = SampleReward | BatchReward;
