/**
 * The advantages of a rollout. With dynamic sampling (DAPO, Yu et al. 2025), groups whose rewards
 * are all equal are left out, and further prompts take their place, until the batch is full or a
 * maximum number of rounds is done. Each round draws enough prompts to fill the batch if the same
 * share of groups is kept as so far. Metrics and the completions table are over all groups that
 * were drawn: the kept groups alone would make the rewards look better or worse than they are.
 */
import { type AdvantageInput, groupAdvantages } from "../loss/advantages.ts";
import { rolloutMetrics } from "../metrics/rollout_metrics.ts";
import { dialogueMetrics } from "../../bench/dialogue/dialogue.ts";
import { sampledTokens } from "../../bench/dialogue/segments.ts";
import type { Rollout, RolloutOptions, RolloutRow } from "./rollout.ts";

type CreditOptions =
  & Pick<RolloutOptions, "training" | "rubric" | "perBatch">
  & Partial<Pick<RolloutOptions, "dialogues">>;

/** The number of prompts to draw next, after these rounds of a batch; 0 = it is complete. */
export function promptsToDraw(rounds: readonly Rollout[], options: CreditOptions): number {
  const { training, perBatch } = options;
  if (rounds.length === 0) return perBatch;
  const most = training.dynamic_sampling ? training.dynamic_sampling_max_batches : 1;
  const drawn = rounds.reduce((sum, { groups }) => sum + groups.length, 0);
  const found = rounds.reduce((sum, round) => sum + groupsWithSignal(round, options).length, 0);
  if (rounds.length >= most || found >= perBatch) return 0;
  const share = Math.max(found, 1) / drawn;
  return Math.min(perBatch, Math.ceil((perBatch - found) / share));
}

/** The rollout with advantages, the choice of dynamic sampling, and metrics. */
export function withAdvantages(rollout: Rollout, options: CreditOptions): Rollout {
  const { training, rubric, perBatch } = options, { rows } = rollout;
  const found = training.dynamic_sampling ? groupsWithSignal(rollout, options) : null;
  const kept = new Set(found === null ? rollout.groups.keys() : found.slice(0, perBatch));
  const input = advantageInput(rollout, rows.filter(({ group }) => kept.has(group)), options);
  const compared = groupAdvantages(input), turns = compared.turns?.values();
  const advantages = compared.advantages.values();
  const weighed = rows.map((row) => ({
    ...row,
    advantage: kept.has(row.group) ? advantages.next().value! : 0,
    ...(turns !== undefined && kept.has(row.group) ? { turnAdvantages: turns.next().value! } : {}),
    kept: kept.has(row.group),
  }));
  const metrics = rolloutMetrics({
    lengths: rows.map(sampledTokens),
    truncated: rows.map(({ truncated }) => truncated),
    rewards: rows.map(({ rewards }) => rewards),
    rewardNames: rubric.names,
    advantages: groupAdvantages(advantageInput(rollout, rows, options)),
  });
  const dialogues = rows.flatMap(({ dialogue }) => dialogue?.about ?? []);
  if (dialogues.length > 0) Object.assign(metrics, dialogueMetrics(dialogues));
  if (found !== null) metrics["dynamic_sampling/kept_ratio"] = found.length / rollout.groups.length;
  for (const { name } of rollout.errors) {
    metrics[`rewards/${name}/errors`] = (metrics[`rewards/${name}/errors`] ?? 0) + 1;
  }
  return { ...rollout, rows: weighed, metrics };
}

/** The groups whose rewards differ, so that some of their completions have an advantage. */
function groupsWithSignal(rollout: Rollout, options: CreditOptions): number[] {
  const byGroup = Map.groupBy(rollout.rows, ({ group }) => group);
  return [...rollout.groups.keys()].filter((group) => {
    const input = advantageInput(rollout, byGroup.get(group) ?? [], options);
    return groupAdvantages({ ...input, estimator: "grpo", scale: "group" }).advantages
      .some((value) => value !== 0);
  });
}

/** @param rows those to compare, of whole groups */
function advantageInput(
  { groups }: Rollout,
  rows: readonly RolloutRow[],
  { training, rubric, dialogues }: CreditOptions,
): AdvantageInput {
  const weight = rubric.weights[rubric.names.indexOf("environment")] ?? 0;
  const byGroup = Map.groupBy(rows, ({ group }) => group);
  const greedy = [...byGroup.keys()].map((group) => groups[group]!.greedy);
  return {
    rewards: rows.map(({ rewards }) => rewards),
    weights: rubric.weights,
    groupSizes: [...byGroup.values()].map(({ length }) => length),
    scale: training.scale_rewards,
    aggregation: training.multi_objective_aggregation,
    estimator: training.advantage_estimator,
    lengths: rows.map(sampledTokens),
    ...(dialogues?.limits.credit === "return" && {
      earned: rows.map(({ dialogue }) =>
        dialogue?.about.turnRewards.map((reward) => weight * reward) ?? [0]
      ),
    }),
    ...(greedy.every((rewards) => rewards !== undefined) ? { greedy } : {}),
  };
}
