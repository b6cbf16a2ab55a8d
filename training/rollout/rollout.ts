/**
 * The completions of a generation batch: sampled (`sampler.ts`), scored (`score.ts`), and weighed
 * against one another (`credit.ts`). A completion is token ids that grow in segments; what the loss
 * counts of them is a view of these.
 */
import type { RunConfig } from "../../configs/schema/run_config.ts";
import type { Dialogue, DialogueSetup } from "../../bench/dialogue/dialogue.ts";
import {
  type DialogueRow,
  rowsOf,
  sampledTokens,
  type Segment,
} from "../../bench/dialogue/segments.ts";
import type { EncodedPrompt, PromptEncoder } from "../../bench/evaluation/prompt_encoder.ts";
import type { Ranks } from "../../cluster/ranks/ranks.ts";
import type { RewardError, Rubric } from "../../rewards/rubric.ts";
import type { ExtraValue } from "../../rewards/types.ts";
import type { Entry } from "../../tasks/types.ts";
import { addUp, averageMetrics, type Metrics } from "../metrics/metrics.ts";
import type { PhaseClock } from "../metrics/phase_clock.ts";

export interface RolloutOptions {
  training: RunConfig["training"];
  prompts: PromptEncoder;
  rubric: Rubric;
  /** null: a completion is one turn of text. */
  dialogues: DialogueSetup | null;
  perBatch: number;
  clock: PhaseClock;
  ranks: Ranks;
  /** @see GenerateOptions.shouldStop */
  shouldStop: () => boolean;
}

/** A completion before it is scored: one answer, or a dialogue. */
export interface SampledRow {
  /** Index in `groups`. */
  group: number;
  /** Number of the completion in its group. */
  branch: number;
  segments: readonly Segment[];
  /** The model's last answer, without special tokens. */
  text: string;
  truncated: boolean;
  /** The prompt with what an environment shows at its start; absent: that of the group. */
  prompt?: EncodedPrompt;
  /** The rows that the segments are of, where they do not all follow the prompt. */
  rows?: readonly DialogueRow[];
  /** What followed the prompt, and what is counted of it; absent: it is one answer. */
  dialogue?: Pick<Dialogue, "messages" | "reward" | "about">;
}

export function promptOf(
  { groups }: Pick<Rollout, "groups">,
  { prompt, group }: Pick<SampledRow, "prompt" | "group">,
): EncodedPrompt {
  return prompt ?? groups[group]!.prompt;
}

/** The rows of a completion that are trained on. */
export function trainedRows(
  rollout: Pick<Rollout, "groups">,
  row: SampledRow,
): readonly DialogueRow[] {
  return rowsOf({ ...row, prompt: promptOf(rollout, row) });
}

export interface RolloutRow extends SampledRow {
  /** Unweighted; null = does not apply. [K] */
  rewards: readonly (number | null)[];
  /** Values of the extra columns that rewards have written. */
  extras: Readonly<Record<string, ExtraValue>>;
  advantage: number;
  /** Of each turn of the model, where turns are credited by what follows them. [turns] */
  turnAdvantages?: readonly number[];
  /** False for a row that dynamic sampling left out. */
  kept: boolean;
}

export interface RolloutGroup {
  entry: Entry;
  prompt: EncodedPrompt;
  /** The prompt that the teacher sees, where that is another one. */
  teacherPrompt?: EncodedPrompt;
  promptId: number;
  /** Rewards of the greedy completion, where the advantages are compared with it. [K] */
  greedy?: readonly (number | null)[];
}

export interface Rollout {
  groups: readonly RolloutGroup[];
  /** The completions of a group are adjacent. */
  rows: readonly RolloutRow[];
  metrics: Metrics;
  /** Means of the values that rewards have logged. */
  logged: Metrics;
  /** What rewards have spent, summed over all completions. */
  spent: Readonly<Record<string, number>>;
  warnings: readonly string[];
  errors: readonly RewardError[];
  /** @see Sampled.other */
  other: boolean;
}

/** Several rollouts as one: the rounds of a batch, or the batches of a step. Null for none. */
export function joinRollouts(rollouts: readonly Rollout[]): Rollout | null {
  if (rollouts.length < 2) return rollouts[0] ?? null;
  let first = 0;
  const rows = rollouts.flatMap((rollout) => {
    const offset = first;
    first += rollout.groups.length;
    return rollout.rows.map((row) => ({ ...row, group: offset + row.group }));
  });
  return {
    groups: rollouts.flatMap(({ groups }) => groups),
    rows,
    metrics: averageMetrics(rollouts.map(({ metrics }) => metrics)),
    logged: averageMetrics(rollouts.map(({ logged }) => logged)),
    spent: addUp(rollouts.map(({ spent }) => spent)),
    warnings: rollouts.flatMap(({ warnings }) => warnings),
    errors: rollouts.flatMap(({ errors }) => errors),
    other: rollouts.some(({ other }) => other),
  };
}

/** Tokens that were sampled, and those of prompts: once for each completion, as in TRL. */
export function tokensOf(rollout: Rollout): { sampled: number; prompts: number } {
  const { rows } = rollout;
  return {
    sampled: rows.reduce((sum, row) => sum + sampledTokens(row), 0),
    prompts: rows.flatMap((row) => trainedRows(rollout, row))
      .reduce((sum, { prompt }) => sum + prompt.ids.length, 0),
  };
}
