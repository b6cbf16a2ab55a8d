/**
 * Scores a batch of a run, and gives up when the run is asked to stop: a judge may take minutes.
 */
import { Interrupted } from "../../core/errors.ts";
import type { Rubric, RubricScores } from "../../rewards/rubric.ts";
import type { RewardSample } from "../../rewards/types.ts";

/**
 * Milliseconds between two questions whether to stop; a batch that takes less is never given up.
 */
const ASK = 200;

/** @throws Interrupted when `shouldStop` says so while rewards are still at work */
export async function scoreBatch(
  rubric: Rubric,
  samples: readonly RewardSample[],
  shouldStop: () => boolean,
): Promise<RubricScores> {
  let timer: ReturnType<typeof setInterval> | undefined;
  const stop = new Promise<null>((resolve) => {
    timer = setInterval(() => shouldStop() && resolve(null), ASK);
  });
  try {
    const scores = rubric.score(samples);
    const first = await Promise.race([scores, stop]);
    if (first !== null) return first;
    scores.catch(() => {}); // nobody asks for them any more
    await rubric.close();
    throw new Interrupted();
  } finally {
    clearInterval(timer);
  }
}
