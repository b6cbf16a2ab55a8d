/** The rewards of the GSM8K recipe. */
import { findNumber, findSolution, goldAnswer, TAGS } from "../data/solution_format.ts";
import { strip } from "../tasks/python/text.ts";
import type { Reward, SampleReward } from "./types.ts";
import { asciiDigits } from "../tasks/python/decimals.ts";

const matchFormatExactly: SampleReward = {
  name: "match_format_exactly",
  description:
    "3 when working out and solution stand in their tags, in order and on lines of their own; " +
    "else 0.",
  params: {},
  compute: ({ completion }) => findSolution(completion) === null ? 0 : 3,
};

const matchFormatApproximately: SampleReward = {
  name: "match_format_approximately",
  description: "For each of the four tags 0.5 when it occurs exactly once, else −0.5.",
  params: {},
  compute({ completion }) {
    let sum = 0;
    for (const tag of Object.values(TAGS)) {
      sum += completion.split(tag).length === 2 ? 0.5 : -0.5;
    }
    return sum;
  },
};

const checkAnswerCorrectness: SampleReward = {
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

const checkNumbersExtraction: SampleReward = {
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

export const GSM8K_REWARDS: readonly Reward[] = [
  matchFormatExactly,
  matchFormatApproximately,
  checkAnswerCorrectness,
  checkNumbersExtraction,
];

const DIGITS = "[0-9](?:_?[0-9])*";
const NUMBER = new RegExp(
  `^[+-]?(?:${DIGITS}(?:\\.(?:${DIGITS})?)?|\\.${DIGITS})(?:[eE][+-]?${DIGITS})?$`,
);
const SPECIAL = /^([+-]?)(inf(?:inity)?|nan)$/i;

/** The number, also ±Infinity and NaN; null where Python raises ValueError. */
export function pythonFloat(text: string): number | null {
  const stripped = asciiDigits(strip(text));
  if (NUMBER.test(stripped)) return Number(stripped.replaceAll("_", ""));
  const special = SPECIAL.exec(stripped);
  if (special === null) return null;
  if (special[2]!.toLowerCase() === "nan") return NaN;
  return special[1] === "-" ? -Infinity : Infinity;
}
