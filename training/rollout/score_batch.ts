/**
 * Scores a batch with the rewards of a run, and gives up when a stop is requested: a judge model
 * may take minutes.
 */
import { Interrupted } from "../../core/errors.ts";
import type { Rubric, RubricScores } from "../../rewards/rubric.ts";
import type { RewardSample } from "../../rewards/types.ts";

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
