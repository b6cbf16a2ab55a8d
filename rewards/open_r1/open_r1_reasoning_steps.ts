/** open-r1's reasoning_steps reward: words and lists that show steps. */
import type { SampleReward } from "../types.ts";

/** A number with a full stop counts only at the very beginning, as in open-r1. */
const STEP = /Step \p{Nd}+:|^\p{Nd}+\.|\n-|\n\*|First,|Second,|Next,|Finally,/gu;

export const openR1ReasoningSteps: SampleReward = {
  name: "open_r1_reasoning_steps",
  description: "A third for each “Step 1:”, “First,”, “Second,”, “Next,”, “Finally,”, line that " +
    "begins with - or *, and number with a full stop at the very beginning; at most 1.",
  params: {},
  compute: ({ completion }) => Math.min(1, (completion.match(STEP)?.length ?? 0) / 3),
};
