/**
 * One generation batch: problems → prompts → completions → rewards → advantages. Sampling is keyed
 * by (seed, prompt's number in the run, branch, position), so a batch that was cut off is generated
 * again with the same tokens.
 *
 * Dynamic sampling (DAPO, Yu et al. 2025): groups that teach nothing are left out and further
 * prompts take their place, until the batch is full or a number of rounds is used up. Each round
 * draws as many prompts as are expected to fill the batch, going by the share that was kept so far.
 * Metrics and the completion table are over all that was drawn: over the kept ones alone, rewards
 * would look better or worse than the policy is.
 */
import type { RunConfig } from "../../configs/schema/run_config.ts";
import type { LanguageModel } from "../../models/language_model.ts";
import type { RewardError, Rubric } from "../../rewards/rubric.ts";
import type { ExtraValue } from "../../rewards/types.ts";
import type { Entry } from "../../tasks/types.ts";
import { type AdvantageInput, groupAdvantages } from "../loss/advantages.ts";
import { averageMetrics, type Metrics } from "../metrics/metrics.ts";
import type { PhaseClock } from "../metrics/phase_clock.ts";
import type { EncodedPrompt, PromptEncoder } from "../../evaluation/prompt_encoder.ts";
import { rolloutMetrics } from "../metrics/rollout_metrics.ts";
import { rolloutOptions } from "../../evaluation/sampling.ts";
import { scoreBatch } from "./score_batch.ts";

export interface RolloutRow {
  /** Index into `groups`. */
  group: number;
  /** Number in its group. */
  branch: number;
  ids: readonly number[];
  /** As the sampler saw them. [ids] */
  logprobs: readonly number[];
  /** Special tokens left out. */
  text: string;
  truncated: boolean;
  /** [K], unweighted; null = not applicable. */
  rewards: readonly (number | null)[];
  /** What rewards wrote into extra columns. */
  extras: Readonly<Record<string, ExtraValue>>;
  advantage: number;
  /** False for a row that dynamic sampling left out. */
  kept: boolean;
}

export interface RolloutGroup {
  entry: Entry;
  prompt: EncodedPrompt;
  /** Number of the prompt in the run. */
  promptId: number;
}

export interface Rollout {
  groups: readonly RolloutGroup[];
  /** The completions of a group stand together. */
  rows: readonly RolloutRow[];
  metrics: Metrics;
  /** Means of what the rewards logged. */
  logged: Metrics;
  completionTokens: number;
  /** Prompt tokens, counted once a completion as TRL does. */
  promptTokens: number;
  /** Completions that a reward failed on. */
  errors: readonly RewardError[];
}

export interface RolloutRequest {
  /** Problem of prompt n of the run. */
  entryAt: (n: number) => Entry;
  /** Number of the first prompt. */
  firstPrompt: number;
  /** Prompts of a full batch. */
  prompts: number;
  /** Optimizer step that the batch is for (1, 2, …), for rewards that want to know. */
  step: number;
}

export interface RolloutOptions {
  model: LanguageModel;
  prompts: PromptEncoder;
  rubric: Rubric;
  training: RunConfig["training"];
  clock: PhaseClock;
  /** @see GenerateOptions.shouldStop */
  shouldStop: () => boolean;
}

/** Completions with their rewards, before advantages. */
interface Drawn {
  groups: RolloutGroup[];
  rows: Omit<RolloutRow, "advantage" | "kept">[];
  errors: RewardError[];
  logged: Metrics[];
}

/** @throws Interrupted when `shouldStop` said so. */
export async function rollOut(request: RolloutRequest, options: RolloutOptions): Promise<Rollout> {
  const { training, rubric } = options;
  const all: Drawn = { groups: [], rows: [], errors: [], logged: [] };
  const rounds = training.dynamic_sampling ? training.dynamic_sampling_max_batches : 1;
  const taught: number[] = [];
  for (let round = 0; round < rounds && taught.length < request.prompts; round++) {
    const count = nextDraw(request.prompts, taught.length, all.groups.length);
    const drawn = await draw(request, request.firstPrompt + all.groups.length, count, options);
    const first = all.groups.length;
    all.groups.push(...drawn.groups);
    all.rows.push(...drawn.rows.map((row) => ({ ...row, group: first + row.group })));
    all.errors.push(...drawn.errors);
    all.logged.push(...drawn.logged);
    for (let group = first; group < all.groups.length; group++) {
      if (teaches(all.rows.filter((row) => row.group === group), options)) taught.push(group);
    }
  }
  const keptGroups = training.dynamic_sampling
    ? new Set(taught.slice(0, request.prompts))
    : new Set(all.groups.keys());
  const kept = all.rows.filter((row) => keptGroups.has(row.group));
  const own = groupAdvantages(advantageInput(kept, options)).advantages.values();
  const advantages = all.rows.map((row) => keptGroups.has(row.group) ? own.next().value! : 0);
  const metrics = rolloutMetrics({
    lengths: all.rows.map((row) => row.ids.length),
    truncated: all.rows.map((row) => row.truncated),
    rewards: all.rows.map((row) => row.rewards),
    rewardNames: rubric.names,
    advantages: groupAdvantages(advantageInput(all.rows, options)),
  });
  if (training.dynamic_sampling) {
    metrics["dynamic_sampling/kept_ratio"] = taught.length / all.groups.length;
  }
  for (const { name } of all.errors) {
    metrics[`rewards/${name}/errors`] = (metrics[`rewards/${name}/errors`] ?? 0) + 1;
  }
  return {
    ...all,
    rows: all.rows.map((row, i) => ({
      ...row,
      advantage: advantages[i]!,
      kept: keptGroups.has(row.group),
    })),
    metrics,
    logged: averageMetrics(all.logged),
    completionTokens: all.rows.reduce((sum, row) => sum + row.ids.length, 0),
    promptTokens: all.rows.reduce(
      (sum, row) => sum + all.groups[row.group]!.prompt.ids.length,
      0,
    ),
  };
}

/** Several batches as one, for the records of a step that took them all; null for none. */
export function joinRollouts(rollouts: readonly Rollout[]): Rollout | null {
  if (rollouts.length < 2) return rollouts[0] ?? null;
  let first = 0;
  const rows = rollouts.flatMap((rollout) => {
    const offset = first;
    first += rollout.groups.length;
    return rollout.rows.map((row) => ({ ...row, group: offset + row.group }));
  });
  const sum = (count: (rollout: Rollout) => number) =>
    rollouts.reduce((total, rollout) => total + count(rollout), 0);
  return {
    groups: rollouts.flatMap(({ groups }) => groups),
    rows,
    metrics: averageMetrics(rollouts.map(({ metrics }) => metrics)),
    logged: averageMetrics(rollouts.map(({ logged }) => logged)),
    completionTokens: sum(({ completionTokens }) => completionTokens),
    promptTokens: sum(({ promptTokens }) => promptTokens),
    errors: rollouts.flatMap(({ errors }) => errors),
  };
}

/** Prompts of the next round: expected to fill the batch, never more than a whole one. */
export function nextDraw(wanted: number, taught: number, drawn: number): number {
  if (drawn === 0) return wanted;
  const share = Math.max(taught, 1) / drawn;
  return Math.min(wanted, Math.ceil((wanted - taught) / share));
}

async function draw(
  request: RolloutRequest,
  firstPrompt: number,
  count: number,
  options: RolloutOptions,
): Promise<Drawn> {
  const { model, prompts, rubric, training, clock } = options;
  const groups = Array.from({ length: count }, (_, i) => {
    const entry = request.entryAt(firstPrompt + i);
    return { entry, prompt: prompts.prompt(entry), promptId: firstPrompt + i };
  });
  const completions = await clock.time("generate", () =>
    model.generate(
      groups.map(({ prompt, promptId }) => ({
        promptId,
        promptIds: prompt.ids,
        n: training.num_generations,
      })),
      rolloutOptions(training, prompts, options.shouldStop),
    ));
  const sampled = completions.flatMap((branches, group) =>
    branches.map(({ ids, logprobs, finishReason }, branch) => ({
      group,
      branch,
      ids,
      logprobs,
      text: prompts.text(ids),
      truncated: prompts.truncated(ids, finishReason === "stop"),
    }))
  );
  const { values, errors, logged, extras } = await clock.time("score", () =>
    scoreBatch(
      rubric,
      sampled.map((row) => {
        const { entry, prompt } = groups[row.group]!;
        return {
          prompt: prompt.text,
          completion: row.text,
          answer: entry.answer,
          info: entry.metadata,
          entry,
          completionIds: row.ids,
          truncated: row.truncated,
          step: request.step,
          maxCompletionLength: training.max_completion_length,
        };
      }),
      options.shouldStop,
    ));
  const rows = sampled.map((row, i) => ({
    ...row,
    rewards: values[i]!,
    extras: Object.fromEntries([...extras].map(([column, cells]) => [column, cells[i] ?? null])),
  }));
  return { groups, rows, errors, logged: [logged] };
}

type Scored = Pick<RolloutRow, "group" | "rewards">;

function advantageInput(rows: readonly Scored[], options: RolloutOptions): AdvantageInput {
  const { training, rubric } = options;
  const sizes = new Map<number, number>();
  for (const { group } of rows) sizes.set(group, (sizes.get(group) ?? 0) + 1);
  return {
    rewards: rows.map((row) => row.rewards),
    weights: rubric.weights,
    groupSizes: [...sizes.values()],
    scale: training.scale_rewards,
    aggregation: training.multi_objective_aggregation,
  };
}

/** Whether a group's rewards differ, so that some of its completions have an advantage. */
function teaches(rows: readonly Scored[], options: RolloutOptions): boolean {
  const { advantages } = groupAdvantages({ ...advantageInput(rows, options), scale: "group" });
  return advantages.some((advantage) => advantage !== 0);
}
