/** The protocol of a reward: one object in, a number (or null = not applicable) out. */
import type { ParamSpec, ScorableEntry } from "../tasks/types.ts";

export interface RewardInput {
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

export type RewardValue = number | null;

export interface Reward {
  name: string;
  description: string;
  params: Readonly<Record<string, ParamSpec>>;
  compute(
    input: RewardInput,
    params: Record<string, unknown>,
  ): RewardValue | Promise<RewardValue>;
}
