/**
 * One generation batch: problems → prompts → completions → rewards → advantages. Sampling is keyed
 * by (seed, number of the prompt in the run, branch, position), so a batch that was interrupted is
 * generated again with the same tokens.
 *
 * Dynamic sampling (DAPO, Yu et al. 2025): groups whose rewards are all equal are left out, and
 * further prompts take their place, until the batch is full or a maximum number of rounds is done.
 * Each round draws enough prompts to fill the batch if the same share of groups is kept as so far.
 * Metrics and the completions table are over all groups that were drawn: over the kept groups
 * alone, the rewards would look better or worse than the policy is.
 */
import type { RunConfig } from "../../configs/schema/run_config.ts";
import type { GenerateRequest } from "../../models/generation/types.ts";
import type { RewardError, Rubric } from "../../rewards/rubric.ts";
import type { ExtraValue } from "../../rewards/types.ts";
import type { Entry } from "../../tasks/types.ts";
import { type AdvantageInput, groupAdvantages } from "../loss/advantages.ts";
import { addUp, averageMetrics, type Metrics } from "../metrics/metrics.ts";
import type { PhaseClock } from "../metrics/phase_clock.ts";
import type { EncodedPrompt, PromptEncoder } from "../../evaluation/prompt_encoder.ts";
import { rolloutMetrics } from "../metrics/rollout_metrics.ts";
import { mean } from "../../core/statistics.ts";
import { ALONE, type Ranks } from "../../ranks/ranks.ts";
import type { Sampled } from "./sampler.ts";
import { scoreBatch } from "./score_batch.ts";

export interface RolloutRow {
  /** Index in `groups`. */
  group: number;
  /** Number of the completion in its group. */
  branch: number;
  ids: readonly number[];
  /** Log-probabilities under the sampler. [ids] */
  logprobs: readonly number[];
  /** Without special tokens. */
  text: string;
  truncated: boolean;
  /** Unweighted; null = does not apply. [K] */
  rewards: readonly (number | null)[];
  /** Values of the extra columns that rewards have written. */
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
  /** The completions of a group are adjacent. */
  rows: readonly RolloutRow[];
  metrics: Metrics;
  /** Means of the values that rewards have logged. */
  logged: Metrics;
  /** What rewards have spent, summed over all completions. */
  spent: Readonly<Record<string, number>>;
  /** What rewards want the user to know. */
  warnings: readonly string[];
  completionTokens: number;
  /** Prompt tokens, counted once for each completion as in TRL. */
  promptTokens: number;
  /** The failures of rewards. */
  errors: readonly RewardError[];
  /** @see Sampled.other */
  other: boolean;
}

export interface RolloutRequest {
  /** The problem of prompt n of the run. */
  entryAt: (n: number) => Entry;
  /** Number of the first prompt. */
  firstPrompt: number;
  /** Prompts of a full batch. */
  prompts: number;
  /** The first optimizer step that trains on the batch (1, 2, …), for rewards that depend on it. */
  step: number;
}

export interface RolloutOptions {
  sample: (requests: readonly GenerateRequest[]) => Promise<Sampled>;
  prompts: PromptEncoder;
  rubric: Rubric;
  training: RunConfig["training"];
  clock: PhaseClock;
  /** @see GenerateOptions.shouldStop */
  shouldStop: () => boolean;
  /** The ranks of the run, which share the work. Default: this process alone. */
  ranks?: Ranks;
}

/** Completions with their rewards, before advantages. */
interface Drawn {
  groups: RolloutGroup[];
  rows: Omit<RolloutRow, "advantage" | "kept">[];
  errors: RewardError[];
  logged: Metrics[];
  spent: Record<string, number>[];
  warnings: string[];
  other: boolean;
}

/** @throws Interrupted when `shouldStop` returns true */
export async function rollOut(request: RolloutRequest, options: RolloutOptions): Promise<Rollout> {
  const { training, rubric } = options;
  const all: Drawn = {
    groups: [],
    rows: [],
    errors: [],
    logged: [],
    spent: [],
    warnings: [],
    other: false,
  };
  const rounds = training.dynamic_sampling ? training.dynamic_sampling_max_batches : 1;
  const withSignal: number[] = [];
  for (let round = 0; round < rounds && withSignal.length < request.prompts; round++) {
    const count = nextDraw(request.prompts, withSignal.length, all.groups.length);
    const drawn = await draw(request, request.firstPrompt + all.groups.length, count, options);
    const first = all.groups.length;
    all.groups.push(...drawn.groups);
    all.rows.push(...drawn.rows.map((row) => ({ ...row, group: first + row.group })));
    all.errors.push(...drawn.errors);
    all.logged.push(...drawn.logged);
    all.spent.push(...drawn.spent);
    all.warnings.push(...drawn.warnings);
    all.other ||= drawn.other;
    for (let group = first; group < all.groups.length; group++) {
      if (hasSignal(all.rows.filter((row) => row.group === group), options)) withSignal.push(group);
    }
  }
  const keptGroups = training.dynamic_sampling
    ? new Set(withSignal.slice(0, request.prompts))
    : new Set(all.groups.keys());
  const kept = all.rows.filter((row) => keptGroups.has(row.group));
  const keptAdvantages = groupAdvantages(advantageInput(kept, options)).advantages.values();
  const advantages = all.rows.map((row) =>
    keptGroups.has(row.group) ? keptAdvantages.next().value! : 0
  );
  const metrics = rolloutMetrics({
    lengths: all.rows.map((row) => row.ids.length),
    truncated: all.rows.map((row) => row.truncated),
    rewards: all.rows.map((row) => row.rewards),
    rewardNames: rubric.names,
    advantages: groupAdvantages(advantageInput(all.rows, options)),
  });
  if (training.dynamic_sampling) {
    metrics["dynamic_sampling/kept_ratio"] = withSignal.length / all.groups.length;
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
    spent: addUp(all.spent),
    completionTokens: all.rows.reduce((sum, row) => sum + row.ids.length, 0),
    promptTokens: all.rows.reduce(
      (sum, row) => sum + all.groups[row.group]!.prompt.ids.length,
      0,
    ),
  };
}

/** Several batches as one, for the records of a step that took all of them; null for none. */
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
    spent: addUp(rollouts.map(({ spent }) => spent)),
    warnings: rollouts.flatMap(({ warnings }) => warnings),
    completionTokens: sum(({ completionTokens }) => completionTokens),
    promptTokens: sum(({ promptTokens }) => promptTokens),
    errors: rollouts.flatMap(({ errors }) => errors),
    other: rollouts.some(({ other }) => other),
  };
}

/** Number of prompts of the next round: as many as should fill the batch, at most a whole batch. */
function nextDraw(wanted: number, withSignal: number, drawn: number): number {
  if (drawn === 0) return wanted;
  const share = Math.max(withSignal, 1) / drawn;
  return Math.min(wanted, Math.ceil((wanted - withSignal) / share));
}

/** The prompts from number `first` on. */
export function promptGroups(
  { entryAt }: Pick<RolloutRequest, "entryAt">,
  prompts: PromptEncoder,
  first: number,
  count: number,
): RolloutGroup[] {
  return Array.from({ length: count }, (_, i) => {
    const entry = entryAt(first + i);
    return { entry, prompt: prompts.prompt(entry), promptId: first + i };
  });
}

/** What a sampler is asked for the prompts of a training batch. */
export function groupRequests(
  groups: readonly RolloutGroup[],
  { num_generations: n }: Pick<RunConfig["training"], "num_generations">,
): GenerateRequest[] {
  return groups.map(({ prompt, promptId }) => ({ promptId, promptIds: prompt.ids, n }));
}

/** A completion before it is scored; `group` counts from 0 in each draw. */
type SampledRow = Omit<RolloutRow, "rewards" | "extras" | "advantage" | "kept">;

/** The scores of some completions. */
interface Scores {
  rows: Pick<RolloutRow, "rewards" | "extras">[];
  errors: RewardError[];
  /** All values that rewards have logged, by name. */
  logged: [name: string, values: readonly number[]][];
  spent: Record<string, number>;
  warnings: readonly string[];
}

const NO_SCORES: Scores = { rows: [], errors: [], logged: [], spent: {}, warnings: [] };

async function draw(
  request: RolloutRequest,
  firstPrompt: number,
  count: number,
  options: RolloutOptions,
): Promise<Drawn> {
  const { prompts, rubric, clock, ranks = ALONE } = options;
  const groups = promptGroups(request, prompts, firstPrompt, count);
  const drawn = await clock.time(
    "generate",
    () => ranks.share(count, (begin, end) => sample(groups.slice(begin, end), begin, options)),
  );
  const sampled = drawn.flatMap(({ rows }) => rows);
  // Rewards that compare the completions of a batch get all of them.
  const pieces = rubric.wholeBatch ? 1 : count;
  const scores = await clock.time("score", () =>
    ranks.share(pieces, async (begin, end) => {
      const own = sampled.filter(({ group }) => pieces === 1 || (group >= begin && group < end));
      // The scores of a rank's completions together stand at its first piece.
      const results = Array<Scores>(end - begin).fill(NO_SCORES);
      return end === begin
        ? results
        : results.with(0, await score(own, groups, request.step, options));
    }));
  const scored = scores.flatMap(({ rows }) => rows);
  const logged = new Map<string, number[]>();
  for (const [name, values] of scores.flatMap((part) => part.logged)) {
    logged.set(name, [...logged.get(name) ?? [], ...values]);
  }
  return {
    groups,
    rows: sampled.map((row, i) => ({ ...row, ...scored[i]! })),
    errors: scores.flatMap(({ errors }) => errors),
    logged: [Object.fromEntries([...logged].map(([name, values]) => [name, mean(values)]))],
    spent: scores.map(({ spent }) => spent),
    warnings: scores.flatMap(({ warnings }) => warnings),
    other: drawn.some(({ other }) => other),
  };
}

/** Completions of some groups, in their order; `first` is the number of the first group. */
async function sample(
  groups: readonly RolloutGroup[],
  first: number,
  { sample, prompts, training }: RolloutOptions,
): Promise<{ rows: SampledRow[]; other: boolean }[]> {
  if (groups.length === 0) return [];
  const { completions, other } = await sample(groupRequests(groups, training));
  return completions.map((branches, i) => ({
    other,
    rows: branches.map(({ ids, logprobs, finishReason }, branch) => ({
      group: first + i,
      branch,
      ids,
      logprobs,
      text: prompts.text(ids),
      truncated: prompts.truncated(ids, finishReason === "stop"),
    })),
  }));
}

async function score(
  rows: readonly SampledRow[],
  groups: readonly RolloutGroup[],
  step: number,
  { rubric, training, shouldStop }: RolloutOptions,
): Promise<Scores> {
  const samples = rows.map((row) => {
    const { entry, prompt } = groups[row.group]!;
    return {
      prompt: prompt.text,
      messages: entry.messages ?? null,
      completion: row.text,
      answer: entry.answer,
      info: entry.metadata,
      entry,
      completionIds: row.ids,
      truncated: row.truncated,
      step,
      maxCompletionLength: training.max_completion_length,
    };
  });
  const scored = await scoreBatch(rubric, samples, shouldStop);
  const { values, errors, logged, extras, sums, warnings } = scored;
  return {
    rows: rows.map((_, i) => ({
      rewards: values[i]!,
      extras: Object.fromEntries([...extras].map(([column, cells]) => [column, cells[i] ?? null])),
    })),
    errors,
    logged: [...logged],
    spent: Object.fromEntries(sums),
    warnings,
  };
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

/** Whether the rewards of a group differ, so that some of its completions have an advantage. */
function hasSignal(rows: readonly Scored[], options: RolloutOptions): boolean {
  const { advantages } = groupAdvantages({ ...advantageInput(rows, options), scale: "group" });
  return advantages.some((advantage) => advantage !== 0);
}
