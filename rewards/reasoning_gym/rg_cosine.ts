/** reasoning-gym's secondary reward `cosine`: by correctness and number of characters. */
import { bool, int } from "../../tasks/define.ts";
import { codePoints } from "../../tasks/python/text.ts";
import { taskScore } from "../task_answer/task_score.ts";
import type { SampleReward } from "../types.ts";

export const rgCosine: SampleReward = {
  name: "rg_cosine",
  description:
    "By the task's score and characters: a right answer falls from 1 to 0.95, a wrong one " +
    "rises from 0 to 0.7 at max_len characters.",
  needs: ["answer"],
  params: {
    max_len: int(1000, "characters of half a cosine", { min: 1 }),
    clamp: bool(false, "stay at the last value beyond max_len (else the cosine swings back)"),
  },
  compute(input, { max_len, clamp }) {
    const ratio = codePoints(input.completion) / Number(max_len);
    const wave = 1 + Math.cos(Math.PI * (clamp ? Math.min(ratio, 1) : ratio));
    return taskScore(input) === 1 ? 0.95 + 0.5 * 0.05 * wave : 0.7 - 0.5 * 0.7 * wave;
  },
};
