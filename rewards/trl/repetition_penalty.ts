/** TRL's penalty of repeated n-grams of tokens (Yeo et al. 2025). */
import { float, int } from "../../tasks/define.ts";
import type { SampleReward } from "../types.ts";

export const repetitionPenalty: SampleReward = {
  name: "repetition_penalty",
  metric: "repetition_penalty_reward",
  description: "(1 − distinct / all n-grams of tokens) × max_penalty.",
  needs: ["completionIds"],
  params: {
    ngram_size: int(3, "tokens of an n-gram", { min: 1 }),
    max_penalty: float(-1, "value when everything is repeated", { max: 0 }),
  },
  compute: ({ completionIds }, params) => repetitionPenaltyOf(completionIds, params),
};

/** The penalty of a list of tokens or words, none of which has white space in it. */
export function repetitionPenaltyOf(
  items: readonly (number | string)[],
  params: Readonly<Record<string, unknown>>,
): number {
  const size = Number(params["ngram_size"]), total = items.length - size + 1;
  if (total < 1) return 0;
  const distinct = new Set<string>();
  for (let i = 0; i < total; i++) distinct.add(items.slice(i, i + size).join(" "));
  const penalty = (1 - distinct.size / total) * Number(params["max_penalty"]);
  return penalty === 0 ? 0 : penalty;
}
