/** TRL's rewards. */
import {
  findMathAnswer,
  findMathAnswerNear,
  joinedBoxes,
  readings,
} from "../data/math_answer/find.ts";
import { parseMath } from "../data/math_answer/reading/parse.ts";
import { isRight } from "../data/math_answer/right.ts";
import { markedResult } from "../data/row_answers.ts";
import { float, int, nullable, texts } from "../tasks/define.ts";
import type { Reward, RewardSample, RewardValue, SampleReward } from "./types.ts";

const accuracyReward: SampleReward = {
  name: "accuracy_reward",
  description:
    "1 when the formula in the last \\boxed{…}, or else soon after “answer”, equals the " +
    "entry's answer (or its solution column), else 0; not applicable when the gold answer is no " +
    "formula. A bare number does not count.",
  params: {},
  compute: (input) => mathAccuracy(input.completion, input),
};

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

const reasoningAccuracyReward: SampleReward = {
  name: "reasoning_accuracy_reward",
  description:
    "accuracy_reward of the text after the reasoning; 0 when the reasoning does not end.",
  params: {
    reasoning_delimiters: texts(
      ["</think>"],
      "ends of the reasoning; the first of the list that occurs counts, at its last occurrence",
    ),
  },
  compute(input, { reasoning_delimiters }) {
    const { completion } = input;
    const delimiter = (reasoning_delimiters as string[]).find((text) => completion.includes(text));
    if (delimiter === undefined) return 0;
    const end = completion.lastIndexOf(delimiter) + delimiter.length;
    return mathAccuracy(completion.slice(end), input);
  },
};

const OPEN = "<think>";

const thinkFormatReward: SampleReward = {
  name: "think_format_reward",
  description:
    "1 when the completion begins with <think>, has no second one, and a </think> follows.",
  params: {},
  // TRL: re.match(r"^<think>(?!.*<think>)(.*?)</think>.*$", completion, DOTALL | MULTILINE)
  compute({ completion }) {
    const begins = completion.startsWith(OPEN) && !completion.includes(OPEN, OPEN.length);
    return begins && completion.includes("</think>", OPEN.length) ? 1 : 0;
  },
};

/** DAPO's soft punishment of completions near the limit (Yu et al. 2025, eq. 13), as in TRL. */
const softOverlong: SampleReward = {
  name: "soft_overlong",
  metric: "soft_overlong_punishment_reward",
  description:
    "0 up to max_completion_len − soft_punish_cache tokens, then falling linearly to −1.",
  needs: ["completionIds"],
  params: {
    max_completion_len: int(1280, "tokens from which on it is −1", { min: 1 }),
    soft_punish_cache: int(256, "tokens over which it falls", { min: 1 }),
  },
  compute({ completionIds: { length } }, params) {
    const max = Number(params["max_completion_len"]), cache = Number(params["soft_punish_cache"]);
    if (length > max) return -1;
    const free = max - cache;
    return length <= free ? 0 : (free - length) / cache;
  },
};

/** TRL's cosine reward (Yeo et al. 2025): right answers should be short, wrong ones long. */
const cosineScaled: SampleReward = {
  name: "cosine_scaled",
  metric: "cosine_scaled_reward",
  description: "By accuracy_reward and tokens: a right answer falls from max_value_correct to " +
    "min_value_correct, a wrong one rises from min_value_wrong to max_value_wrong.",
  needs: ["completionIds"],
  params: {
    max_len: nullable(int(0, "tokens of half a cosine; null: max_completion_length", { min: 1 })),
    min_value_wrong: float(-1, "a wrong answer of length 0"),
    max_value_wrong: float(-0.5, "a wrong answer of max_len or more"),
    min_value_correct: float(0.5, "a right answer of max_len or more"),
    max_value_correct: float(1, "a right answer of length 0"),
  },
  compute(input, params) {
    const correct = mathAccuracy(input.completion, input);
    if (correct === null) return null;
    const max = Number(params["max_len"] ?? input.maxCompletionLength);
    return cosineBetween(correct === 1, Math.min(input.completionIds.length / max, 1), params);
  },
};

/** Half a cosine from the value of length 0 (progress 0) to that of the longest (progress 1). */
export function cosineBetween(
  isRight: boolean,
  progress: number,
  params: Readonly<Record<string, unknown>>,
): number {
  const value = (name: string) => Number(params[name]);
  const [low, high] = isRight
    ? [value("min_value_correct"), value("max_value_correct")]
    : [value("max_value_wrong"), value("min_value_wrong")];
  return low + 0.5 * (high - low) * (1 + Math.cos(Math.PI * progress));
}

/** TRL's penalty of repeated n-grams of tokens (Yeo et al. 2025). */
const repetitionPenalty: SampleReward = {
  name: "repetition_penalty",
  metric: "repetition_penalty_reward",
  description: "(1 − distinct / all n-grams of tokens) × max_penalty.",
  needs: ["completionIds"],
  params: {
    ngram_size: int(3, "tokens of an n-gram", { min: 1 }),
    max_penalty: float(-1, "value when everything is repeated", { max: 0 }),
  },
  compute: ({ completionIds }, params) => repetitionPenaltyOf(completionIds, params),
};

/** The penalty of a list of tokens or words, none of which has white space in it. */
export function repetitionPenaltyOf(
  items: readonly (number | string)[],
  params: Readonly<Record<string, unknown>>,
): number {
  const size = Number(params["ngram_size"]), total = items.length - size + 1;
  if (total < 1) return 0;
  const distinct = new Set<string>();
  for (let i = 0; i < total; i++) distinct.add(items.slice(i, i + size).join(" "));
  const penalty = (1 - distinct.size / total) * Number(params["max_penalty"]);
  return penalty === 0 ? 0 : penalty;
}

export const TRL_REWARDS: readonly Reward[] = [
  thinkFormatReward,
  accuracyReward,
  reasoningAccuracyReward,
  softOverlong,
  cosineScaled,
  repetitionPenalty,
];
