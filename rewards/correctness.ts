/** The task's own score of the extracted answer. */
import { RgxError } from "../core/errors.ts";
import { scoreCompletion } from "../data/score.ts";
import { bool } from "../tasks/define.ts";
import type { Reward } from "./types.ts";

/** What is still counted as fully right. */
const FULL = 1 - 1e-9;

export const correctness: Reward = {
  name: "correctness",
  description: "The task's score of the answer in the last <answer> tags, 0 to 1.",
  params: { binary: bool(false, "count every score below 1 as 0") },
  compute({ completion, entry }, { binary }) {
    const { score, error } = scoreCompletion(completion, entry);
    if (error !== null) throw new RgxError(error);
    return binary && score < FULL ? 0 : score;
  },
};
