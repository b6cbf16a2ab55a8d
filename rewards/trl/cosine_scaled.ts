/** TRL's cosine reward (Yeo et al. 2025): right answers should be short, wrong ones long. */
import { float } from "../../tasks/define.ts";
import { mathAccuracy } from "./accuracy_reward.ts";
import type { SampleReward } from "../types.ts";

export const cosineScaled: SampleReward = {
  name: "cosine_scaled",
  metric: "cosine_scaled_reward",
  description: "By accuracy_reward and tokens: a right answer falls from max_value_correct to " +
    "min_value_correct, a wrong one rises from min_value_wrong to max_value_wrong.",
  needs: ["completionIds"],
  params: {
    max_len: {
      type: "int",
      default: null,
      nullable: true,
      min: 1,
      description: "tokens of half a cosine; null: max_completion_length",
    },
    min_value_wrong: float(-1, "a wrong answer of length 0"),
    max_value_wrong: float(-0.5, "a wrong answer of max_len or more"),
    min_value_correct: float(0.5, "a right answer of max_len or more"),
    max_value_correct: float(1, "a right answer of length 0"),
  },
  compute(input, params) {
    const correct = mathAccuracy(input.completion, input);
    if (correct === null) return null;
    const max = Number(params["max_len"] ?? input.maxCompletionLength);
    return cosineBetween(correct === 1, Math.min(input.completionIds.length / max, 1), params);
  },
};

/** Half a cosine from the value of length 0 (progress 0) to that of the longest (progress 1). */
export function cosineBetween(
  isRight: boolean,
  progress: number,
  params: Readonly<Record<string, unknown>>,
): number {
  const value = (name: string) => Number(params[name]);
  const [low, high] = isRight
    ? [value("min_value_correct"), value("max_value_correct")]
    : [value("max_value_wrong"), value("min_value_wrong")];
  return low + 0.5 * (high - low) * (1 + Math.cos(Math.PI * progress));
}
