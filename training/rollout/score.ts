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

/**
 * Milliseconds between two checks for a stop request. A batch that takes less is always completed.
 */
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

/**
 * Scores the completions of some groups, which the ranks share.
 * @param sampled `sampleRows` has made them
 * @param step the first step that trains on them
 * @returns a rollout whose advantages are not known yet
 */
export async function scoreRows(
  groups: readonly RolloutGroup[],
  { rows: sampled, other }: { rows: readonly SampledRow[]; other: boolean },
  step: number,
  { rubric, ranks, clock, training, shouldStop }: RolloutOptions,
): Promise<Rollout> {
  const about = { step, maxCompletionLength: training.max_completion_length };
  const score = async (rows: readonly SampledRow[]): Promise<Scores> => {
    const samples = rows.map((row) =>
      rewardSample(
        { ...groups[row.group]!, prompt: promptOf({ groups }, row) },
        { ...row, ids: idsOf(row) },
        about,
      )
    );
    const { values, errors, logged, extras, sums, warnings } = await scoreBatch(
      rubric,
      samples,
      shouldStop,
    );
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
  const scores = await clock.time("score", () => ranks.share(pieces, share));
  const scored = scores.flatMap(({ rows }) => rows);
  const logged = new Map<string, number[]>();
  for (const [name, values] of scores.flatMap((part) => part.logged)) {
    logged.set(name, [...logged.get(name) ?? [], ...values]);
  }
  return {
    groups,
    rows: sampled.map((row, i) => ({ ...row, ...scored[i]!, advantage: 0, kept: true })),
    metrics: {},
    errors: scores.flatMap(({ errors }) => errors),
    logged: Object.fromEntries([...logged].map(([name, values]) => [name, mean(values)])),
    spent: addUp(scores.map(({ spent }) => spent)),
    warnings: scores.flatMap(({ warnings }) => warnings),
    other,
  };
}
