/**
 * TRL's accuracy_reward: mathematical equality of the formula in the completion and the gold
 * answer.
 */
import {
  findMathAnswer,
  findMathAnswerNear,
  joinedBoxes,
  readings,
} from "../../data/math_answer/find.ts";
import { parseMath } from "../../data/math_answer/reading/parse.ts";
import { isRight } from "../../data/math_answer/right.ts";
import { markedResult } from "../../data/row_answers.ts";
import type { RewardSample, RewardValue, SampleReward } from "../types.ts";

export const accuracyReward: SampleReward = {
  name: "accuracy_reward",
  description:
    "1 when the formula in the last \\boxed{…}, or else soon after “answer”, equals the " +
    "entry's answer (or its solution column), else 0; not applicable when the gold answer is no " +
    "formula. A bare number does not count.",
  params: {},
  compute: (input) => mathAccuracy(input.completion, input),
};

/** accuracy_reward for a part of the completion. */
export function mathAccuracy(
  text: string,
  { answer, info, entry }:
    & Pick<RewardSample, "answer" | "info">
    & Partial<Pick<RewardSample, "entry">>,
): RewardValue {
  const solution = info["solution"];
  const goldText = typeof solution === "string" ? solution : answer;
  const gold = goldText === null ? null : readings(goldIn(goldText)).at(-1)!;
  if (gold === null || parseMath(gold) === null) return null;
  const found = joinedBoxes(text) ?? findMathAnswerNear(text);
  return found !== null && isRight(found, gold, entry?.question) ? 1 : 0;
}

/** The formula of a gold answer, which may be a worked solution; else the whole text. */
const goldIn = (text: string): string =>
  joinedBoxes(text) ?? markedResult(text) ?? findMathAnswer(text) ?? text;
