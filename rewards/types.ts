/** The protocol of a reward: one object in, a number (or null = not applicable) out. */
import type { ChatMessage } from "../core/chat_message.ts";
import type { ParamSpec } from "../core/named_params.ts";
import type { ScorableEntry } from "../tasks/types.ts";

/** The values that a cell of an extra column of the table of completions may have. */
export type ExtraValue = string | number | boolean | null;

/** One completion to score, and all that is known about it. */
export interface RewardSample {
  /** Prompt and completion as text, special tokens skipped. */
  prompt: string;
  /** The prompt as the data's messages, where it is a conversation; else null. */
  messages: readonly ChatMessage[] | null;
  /** The text that is judged, without special tokens. */
  completion: string;
  /** The entry's answer and metadata. */
  answer: string | null;
  /** The problem's metadata. */
  info: Record<string, unknown>;
  /** The problem, as a scorer of tasks gets it. */
  entry: ScorableEntry;
  /** In a dialogue: all messages after the prompt; `completion` is the last answer. */
  dialogue?: readonly ChatMessage[];
  /** In a dialogue: the environment's reward; null = none. */
  environmentReward?: number | null;
  /** Its tokens. */
  completionIds: readonly number[];
  /** The completion did not end by itself. */
  truncated: boolean;
  /** The optimizer step; 0 outside of training. */
  step: number;
  /** Maximum number of tokens of a completion. */
  maxCompletionLength: number;
}

/** The input of a reward: the sample, and functions for logging. */
export interface RewardInput extends RewardSample {
  /** Logs a finite number in the metrics of this step. Several values of one name are averaged. */
  log(name: string, value: number): void;
  /** Sets the cell of this completion in an extra column of the table of completions. */
  logExtra(column: string, value: ExtraValue): void;
  /** Adds a price, in any currency, to the metrics `rewards/{name}/cost` and `…/total_cost`. */
  addCost(amount: number): void;
}

/** null: the reward does not apply to this sample and adds nothing to its sum, not even 0. */
export type RewardValue = number | null;

/** The parts of a sample that other programs may leave out. */
export const SAMPLE_PARTS = ["completionIds", "answer"] as const;
/** A part of a sample that other programs may leave out. */
export type SamplePart = typeof SAMPLE_PARTS[number];

/** What every reward declares. */
export interface RewardBase {
  /** Its name in the registry. */
  name: string;
  /** Name in metrics and tables if it differs from `name`. */
  metric?: string;
  /** One line for `rgx rewards list`. */
  description: string;
  /** Weight if a configuration names none; default 1. */
  defaultWeight?: number;
  /** Its parameters by name. */
  params: Readonly<Record<string, ParamSpec>>;
  /** Parts of a sample without which its value would silently be wrong. */
  needs?: readonly SamplePart[];
}

/** A reward that sees one completion at a time. */
export interface SampleReward extends RewardBase {
  /** The value of a completion; null = it does not apply. */
  compute(
    input: RewardInput,
    params: Record<string, unknown>,
  ): RewardValue | Promise<RewardValue>;
}

/** A reward that sees all completions of a step at once. Those of one prompt are consecutive. */
export interface BatchReward extends RewardBase {
  /** One value per item, in their order. */
  computeBatch(
    items: readonly RewardInput[],
    params: Record<string, unknown>,
  ): RewardValue[] | Promise<RewardValue[]>;
}

/** A reward: it sees one completion at a time, or all of a step. */
export type Reward = SampleReward | BatchReward;
