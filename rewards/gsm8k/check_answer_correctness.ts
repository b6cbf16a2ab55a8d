/**
 * Compares the solution in the format of the GSM8K recipe with the gold answer. A near number gets
 * a part of the points.
 */
import { strip } from "../../tasks/python/text.ts";
import { findSolution, goldAnswer } from "../../data/solution_format.ts";
import { pythonFloat } from "../python_float.ts";
import type { SampleReward } from "../types.ts";

export const checkAnswerCorrectness: SampleReward = {
  name: "check_answer_correctness",
  description: "3 for the gold answer's text, 1.5 within 10 %, 0.5 within 20 %, else −0.5; " +
    "0 where the format is not matched.",
  needs: ["answer"],
  params: {},
  compute({ completion, answer }) {
    const gold = goldAnswer(answer);
    if (gold === null) return null;
    const solution = findSolution(completion);
    if (solution === null) return 0;
    if (strip(solution) === gold) return 3;
    const value = pythonFloat(solution), wanted = pythonFloat(gold);
    if (value === null || wanted === null || wanted === 0) return -0.5;
    const ratio = value / wanted;
    if (ratio >= 0.9 && ratio <= 1.1) return 1.5;
    return ratio >= 0.8 && ratio <= 1.2 ? 0.5 : -0.5;
  },
};
