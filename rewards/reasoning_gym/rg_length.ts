/**
 * reasoning-gym's secondary reward `length`: an answer that is not right should at least be long.
 */
import { float, int } from "../../tasks/define.ts";
import { codePoints } from "../../tasks/python/text.ts";
import { taskScore } from "../task_answer/task_score.ts";
import type { SampleReward } from "../types.ts";

export const rgLength: SampleReward = {
  name: "rg_length",
  description: "(max_score − the task's score) × min(characters / max_output_length, 1): " +
    "long attempts where the answer is wrong.",
  defaultWeight: 0.2,
  needs: ["answer"],
  params: {
    max_score: float(1, "score from which on length is worth nothing"),
    max_output_length: int(1024, "characters from which on length adds nothing", { min: 1 }),
  },
  compute(input, { max_score, max_output_length }) {
    const share = Math.min(codePoints(input.completion) / Number(max_output_length), 1);
    return (Number(max_score) - taskScore(input)) * share;
  },
};
