/** open-r1's cosine reward: by characters, and beyond max_len the cosine swings back. */
import { float, int } from "../../tasks/define.ts";
import { codePoints } from "../../tasks/python/text.ts";
import { mathAccuracy } from "../trl/accuracy_reward.ts";
import { cosineBetween } from "../trl/cosine_scaled.ts";
import type { SampleReward } from "../types.ts";

export const openR1Cosine: SampleReward = {
  name: "open_r1_cosine",
  description: "By accuracy_reward and characters: a right answer goes from max_value_correct to " +
    "min_value_correct, a wrong one from min_value_wrong to max_value_wrong, and back beyond " +
    "max_len; 1 when the gold answer is no formula.",
  params: {
    max_len: int(1000, "characters of half a cosine", { min: 1 }),
    // By default the first is above the second: longer wrong answers are worth less.
    min_value_wrong: { ...float(0, "a wrong answer of length 0"), anyOrder: true },
    max_value_wrong: float(-0.5, "a wrong answer of max_len"),
    min_value_correct: { ...float(0.5, "a right answer of max_len"), anyOrder: true },
    max_value_correct: float(1, "a right answer of length 0"),
  },
  compute(input, params) {
    const correct = mathAccuracy(input.completion, input);
    if (correct === null) return 1;
    const progress = codePoints(input.completion) / Number(params["max_len"]);
    return cosineBetween(correct === 1, progress, params);
  },
};
