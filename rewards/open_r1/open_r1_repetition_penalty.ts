/** open-r1's penalty of repeated n-grams of words (Yeo et al. 2025, appendix C.2). */
import { float, int } from "../../tasks/define.ts";
import { words } from "../../tasks/python/text.ts";
import { repetitionPenaltyOf } from "../trl/repetition_penalty.ts";
import type { SampleReward } from "../types.ts";

export const openR1RepetitionPenalty: SampleReward = {
  name: "open_r1_repetition_penalty",
  description: "(1 − distinct / all n-grams of words, in small letters) × max_penalty.",
  params: {
    ngram_size: int(3, "words of an n-gram", { min: 1 }),
    max_penalty: float(-1, "value when everything is repeated", { max: 0 }),
  },
  compute: ({ completion }, params) => repetitionPenaltyOf(words(completion.toLowerCase()), params),
};
