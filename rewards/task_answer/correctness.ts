/** The score that the task, or the comparison with a file's answer, gives to the answer. */
import { bool } from "../../tasks/define.ts";
import { taskScore } from "./task_score.ts";
import type { SampleReward } from "../types.ts";

/** Scores from here on count as fully right. */
const FULL = 1 - 1e-9;

export const correctness: SampleReward = {
  name: "correctness",
  description: "The task's score of the answer in the last <answer> tags, 0 to 1; where a file's " +
    "prompts do not ask for the tags, of the answer that the completion states.",
  needs: ["answer"],
  params: { binary: bool(false, "count every score below 1 as 0") },
  compute(input, { binary }) {
    const score = taskScore(input);
    return binary && score < FULL ? 0 : score;
  },
};
