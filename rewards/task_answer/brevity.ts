/** Higher for shorter completions that give an answer. */
import { extractAnswer } from "../../data/extract.ts";
import type { SampleReward } from "../types.ts";

export const brevity: SampleReward = {
  name: "brevity",
  description: "1 − tokens / max_completion_length; 0 when truncated or without an answer.",
  needs: ["completionIds"],
  params: {},
  compute({ completion, completionIds, truncated, maxCompletionLength }) {
    if (truncated || extractAnswer(completion) === null) return 0;
    return 1 - Math.min(completionIds.length / maxCompletionLength, 1);
  },
};
