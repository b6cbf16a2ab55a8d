/** Compares the first number after the solution tag of the GSM8K recipe with the gold answer. */
import { findNumber, goldAnswer } from "../../data/solution_format.ts";
import { pythonFloat } from "../python_float.ts";
import type { SampleReward } from "../types.ts";

export const checkNumbersExtraction: SampleReward = {
  name: "check_numbers_extraction",
  description: "1.5 when the first number after <SOLUTION> equals the gold answer, else 0.",
  needs: ["answer"],
  params: {},
  compute({ completion, answer }) {
    const gold = goldAnswer(answer);
    if (gold === null) return null;
    const number = findNumber(completion);
    const value = number === null ? null : pythonFloat(number);
    return value !== null && value === pythonFloat(gold) ? 1.5 : 0;
  },
};
