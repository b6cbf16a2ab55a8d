/** TRL's reasoning_accuracy_reward: the accuracy of the text after the reasoning. */
import { texts } from "../../tasks/define.ts";
import { mathAccuracy } from "./accuracy_reward.ts";
import type { SampleReward } from "../types.ts";

export const reasoningAccuracyReward: SampleReward = {
  name: "reasoning_accuracy_reward",
  description:
    "accuracy_reward of the text after the reasoning; 0 when the reasoning does not end.",
  params: {
    reasoning_delimiters: texts(
      ["</think>"],
      "ends of the reasoning; the first of the list that occurs counts, at its last occurrence",
    ),
  },
  compute(input, { reasoning_delimiters }) {
    const { completion } = input;
    const delimiter = (reasoning_delimiters as string[]).find((text) => completion.includes(text));
    if (delimiter === undefined) return 0;
    const end = completion.lastIndexOf(delimiter) + delimiter.length;
    return mathAccuracy(completion.slice(end), input);
  },
};
