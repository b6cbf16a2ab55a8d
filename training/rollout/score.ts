/**
 * Scores completions with the rewards of a run, and gives up when a stop is requested: a judge
 * model may take minutes.
 */
import { Interrupted } from "../../core/errors.ts";
import { mean } from "../../core/statistics.ts";
import type { RewardError, Rubric, RubricScores } from "../../rewards/rubric.ts";
import type { RewardSample } from "../../rewards/types.ts";
import type { Entry } from "../../tasks/types.ts";
import type { Dialogue } from "../../bench/dialogue/dialogue.ts";
import { addUp } from "../metrics/metrics.ts";
import { idsOf } from "../../bench/dialogue/segments.ts";
import {
  promptOf,
  type Rollout,
  type RolloutGroup,
  type RolloutOptions,
  type RolloutRow,
  type SampledRow,
} from "./rollout.ts";
import type { SampledRows } from "./sampler.ts";

/** Milliseconds between two checks; a batch that takes less is always completed. */
const STOP_CHECK_MS = 200;

/** @throws Interrupted when `shouldStop` returns true before all rewards are done */
export async function scoreBatch(
  rubric: Rubric,
  samples: readonly RewardSample[],
  shouldStop: () => boolean,
): Promise<RubricScores> {
  let timer: ReturnType<typeof setInterval> | undefined;
  const stop = new Promise<null>((resolve) => {
    timer = setInterval(() => shouldStop() && resolve(null), STOP_CHECK_MS);
  });
  try {
    const scores = rubric.score(samples);
    const first = await Promise.race([scores, stop]);
    if (first !== null) return first;
    scores.catch(() => {}); // the scores are not needed any more
    await rubric.close();
    throw new Interrupted();
  } finally {
    clearInterval(timer);
  }
}

/** What a reward sees of a completion. @param step the first step that trains on it */
export function rewardSample(
  { entry, prompt }: { entry: Entry; prompt: { text: string } },
  { ids, text, truncated, dialogue }: {
    ids: readonly number[];
    text: string;
    truncated: boolean;
    dialogue?: Pick<Dialogue, "messages" | "reward">;
  },
  about: Pick<RewardSample, "step" | "maxCompletionLength">,
): RewardSample {
  return {
    prompt: prompt.text,
    messages: entry.messages ?? null,
    completion: text,
    answer: entry.answer,
    info: entry.metadata,
    entry,
    completionIds: ids,
    truncated,
    ...(dialogue === undefined
      ? {}
      : { dialogue: dialogue.messages, environmentReward: dialogue.reward }),
    ...about,
  };
}

interface Scores {
  rows: Pick<RolloutRow, "rewards" | "extras">[];
  errors: RewardError[];
  logged: [name: string, values: readonly number[]][];
  spent: Record<string, number>;
  warnings: readonly string[];
}

const NO_SCORES: Scores = { rows: [], errors: [], logged: [], spent: {}, warnings: [] };

/**
 * Scores the completions of some groups, which the ranks share.
 * @param step the first step that trains on them
 * @returns a rollout whose advantages are not known yet
 */
export async function scoreRows(
  groups: readonly RolloutGroup[],
  { rows, greedy, other }: SampledRows,
  step: number,
  options: RolloutOptions,
): Promise<Rollout> {
  const scores = await scoresOf(rows, groups, step, options);
  // The completions that the others are compared with have rewards, and no other effect.
  const compared = greedy.length === 0 ? [] : await scoresOf(greedy, groups, step, options);
  const scored = scores.flatMap(({ rows }) => rows);
  const baselines = compared.flatMap(({ rows }) => rows);
  const logged = new Map<string, number[]>();
  for (const [name, values] of scores.flatMap((part) => part.logged)) {
    logged.set(name, [...logged.get(name) ?? [], ...values]);
  }
  const all = [...scores, ...compared];
  return {
    groups: groups.map((group, i) =>
      baselines.length === 0 ? group : { ...group, greedy: baselines[i]!.rewards }
    ),
    rows: rows.map((row, i) => ({ ...row, ...scored[i]!, advantage: 0, kept: true })),
    metrics: {},
    errors: all.flatMap(({ errors }) => errors),
    logged: Object.fromEntries([...logged].map(([name, values]) => [name, mean(values)])),
    spent: addUp(all.map(({ spent }) => spent)),
    warnings: all.flatMap(({ warnings }) => warnings),
    other,
  };
}

async function scoresOf(
  sampled: readonly SampledRow[],
  groups: readonly RolloutGroup[],
  step: number,
  { rubric, ranks, clock, training, shouldStop }: RolloutOptions,
): Promise<Scores[]> {
  const about = { step, maxCompletionLength: training.max_completion_length };
  const score = async (rows: readonly SampledRow[]): Promise<Scores> => {
    const samples = rows.map((row) =>
      rewardSample(
        { ...groups[row.group]!, prompt: promptOf({ groups }, row) },
        { ...row, ids: idsOf(row) },
        about,
      )
    );
    const scores = await scoreBatch(rubric, samples, shouldStop);
    const { values, errors, logged, extras, sums, warnings } = scores;
    const extrasOf = (i: number) =>
      Object.fromEntries([...extras].map(([column, cells]) => [column, cells[i] ?? null]));
    return {
      rows: rows.map((_, i) => ({ rewards: values[i]!, extras: extrasOf(i) })),
      errors,
      logged: [...logged],
      spent: Object.fromEntries(sums),
      warnings,
    };
  };
  // Rewards that compare the completions of a batch get all of them.
  const pieces = rubric.wholeBatch ? 1 : groups.length;
  const share = async (begin: number, end: number) => {
    const own = sampled.filter(({ group }) => pieces === 1 || (group >= begin && group < end));
    // The scores of a rank's completions together stand at its first piece.
    const results = Array<Scores>(end - begin).fill(NO_SCORES);
    return end === begin ? results : results.with(0, await score(own));
  };
  return await clock.time("score", () => ranks.share(pieces, share));
}
