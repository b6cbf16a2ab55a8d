/** The task's own score of the extracted answer. */
import { bool } from "../tasks/define.ts";
import { taskScore } from "./task_score.ts";
import type { SampleReward } from "./types.ts";

/** What is still counted as fully right. */
const FULL = 1 - 1e-9;

export const correctness: SampleReward = {
  name: "correctness",
  description: "The task's score of the answer in the last <answer> tags, 0 to 1.",
  params: { binary: bool(false, "count every score below 1 as 0") },
  compute(input, { binary }) {
    const score = taskScore(input);
    return binary && score < FULL ? 0 : score;
  },
};
