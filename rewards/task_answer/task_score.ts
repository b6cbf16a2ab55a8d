/** The score that the task gives to a completion, for rewards that build on it. */
import { RgxError } from "../../core/errors.ts";
import { scoreCompletion } from "../../data/score_completion.ts";
import type { RewardSample } from "../types.ts";

/** In [0, 1]. @throws RgxError when the answer could not be scored */
export function taskScore({ completion, entry, prompt }: RewardSample): number {
  const { score, error } = scoreCompletion(completion, entry, null, prompt);
  if (error !== null) throw new RgxError(error);
  return score;
}
