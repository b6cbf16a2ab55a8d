/** open-r1's rewards. */
import { float, int, text } from "../tasks/define.ts";
import { codePoints, words } from "../tasks/python/text.ts";
import { cosineBetween, mathAccuracy, repetitionPenaltyOf } from "./trl.ts";
import type { BatchReward, Reward, SampleReward } from "./types.ts";

const openR1Format: SampleReward = {
  name: "open_r1_format",
  description: "1 when the completion begins <think>, a line of its own, and has the lines " +
    "</think>, <answer> and, at the end of a line, </answer> after it, in this order; else 0.",
  params: {},
  // open-r1: re.match(r"^<think>\n.*?\n</think>\n<answer>\n.*?\n</answer>$", DOTALL | MULTILINE)
  compute: ({ completion }) =>
    hasInOrder(completion, "<think>\n", ["\n</think>\n<answer>\n"], "\n</answer>") ? 1 : 0,
};

const TAGS = ["<think>\n", "\n</think>\n", "\n<answer>\n", "\n</answer>"];

const openR1TagCount: SampleReward = {
  name: "open_r1_tag_count",
  description: "0.25 for each of <think>, </think>, <answer>, </answer> that occurs exactly once " +
    "with the line breaks that open_r1_format wants around it.",
  params: {},
  // In the form that is wanted, </think> and <answer> share one line break: both are found.
  compute: ({ completion }) =>
    TAGS.filter((tag) => completion.split(tag).length === 2).length * 0.25,
};

/** A number with a full stop counts only at the very beginning, as in open-r1. */
const STEP = /Step \p{Nd}+:|^\p{Nd}+\.|\n-|\n\*|First,|Second,|Next,|Finally,/gu;

const openR1ReasoningSteps: SampleReward = {
  name: "open_r1_reasoning_steps",
  description: "A third for each “Step 1:”, “First,”, “Second,”, “Next,”, “Finally,”, line that " +
    "begins with - or *, and number with a full stop at the very beginning; at most 1.",
  params: {},
  compute: ({ completion }) => Math.min(1, (completion.match(STEP)?.length ?? 0) / 3),
};

/** open-r1's cosine reward: by characters, and beyond max_len the cosine swings back. */
const openR1Cosine: SampleReward = {
  name: "open_r1_cosine",
  description: "By accuracy_reward and characters: a right answer goes from max_value_correct to " +
    "min_value_correct, a wrong one from min_value_wrong to max_value_wrong, and back beyond " +
    "max_len; 1 when the gold answer is no formula.",
  params: {
    max_len: int(1000, "characters of half a cosine", { min: 1 }),
    // By default the first is above the second: longer wrong answers are worth less.
    min_value_wrong: { ...float(0, "a wrong answer of length 0"), anyOrder: true },
    max_value_wrong: float(-0.5, "a wrong answer of max_len"),
    min_value_correct: { ...float(0.5, "a right answer of max_len"), anyOrder: true },
    max_value_correct: float(1, "a right answer of length 0"),
  },
  compute(input, params) {
    const correct = mathAccuracy(input.completion, input);
    if (correct === null) return 1;
    const progress = codePoints(input.completion) / Number(params["max_len"]);
    return cosineBetween(correct === 1, progress, params);
  },
};

/** open-r1's penalty of repeated n-grams of words (Yeo et al. 2025, appendix C.2). */
const openR1RepetitionPenalty: SampleReward = {
  name: "open_r1_repetition_penalty",
  description: "(1 − distinct / all n-grams of words, in small letters) × max_penalty.",
  params: {
    ngram_size: int(3, "words of an n-gram", { min: 1 }),
    max_penalty: float(-1, "value when everything is repeated", { max: 0 }),
  },
  compute: ({ completion }, params) => repetitionPenaltyOf(words(completion.toLowerCase()), params),
};

/** open-r1's length reward, from Kimi k1.5 (section 2.3.3): short right answers are worth most. */
const openR1Length: BatchReward = {
  name: "open_r1_length",
  description: "By accuracy_reward and characters, among all completions of a step: 0.5 for the " +
    "shortest, falling to −0.5 for the longest; a wrong one has at most 0. All are 0 when all " +
    "are of one length. Right is also what has no formula as its gold answer.",
  params: {},
  computeBatch(items) {
    const lengths = items.map(({ completion }) => codePoints(completion));
    const [least, most] = lengths.reduce(
      ([low, high], length) => [Math.min(low, length), Math.max(high, length)],
      [Infinity, -Infinity],
    );
    if (least === most) return items.map(() => 0);
    return items.map((item, i) => {
      const value = 0.5 - (lengths[i]! - least) / (most - least);
      return mathAccuracy(item.completion, item) === 0 ? Math.min(0, value) : value;
    });
  },
};

const LANGUAGES = ["python", "javascript", "r", "java", "bash", "cpp"];

const openR1CodeFormat: SampleReward = {
  name: "open_r1_code_format",
  description: "1 when the completion has the form of open_r1_format and its answer a block of " +
    "code in the language, or in that of the data's column language; else 0.",
  params: { language: text("python", "language of the code", LANGUAGES) },
  // open-r1: r"^<think>\n.*?\n</think>\n<answer>\n.*?```{language}.*?```.*?\n</answer>$"
  compute({ completion, info }, params) {
    const column = info["language"];
    const language = typeof column === "string" ? column : String(params["language"]);
    const parts = ["\n</think>\n<answer>\n", "```" + language, "```"];
    return hasInOrder(completion, "<think>\n", parts, "\n</answer>") ? 1 : 0;
  },
};

/**
 * Whether a text begins with `start`, then has all `parts` and `end` in this order without
 * overlaps, with any text between them, and `end` is at the end of a line. Each part is taken at
 * its first place: if a later one fits, this one does too. So it needs no backtracking.
 */
export function hasInOrder(
  text: string,
  start: string,
  parts: readonly string[],
  end: string,
): boolean {
  if (!text.startsWith(start)) return false;
  let at = start.length;
  for (const part of parts) {
    const found = text.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  for (let found = text.indexOf(end, at); found >= 0; found = text.indexOf(end, found + 1)) {
    const next = text[found + end.length];
    if (next === undefined || next === "\n") return true;
  }
  return false;
}

export const OPEN_R1_REWARDS: readonly Reward[] = [
  openR1Format,
  openR1TagCount,
  openR1ReasoningSteps,
  openR1Cosine,
  openR1RepetitionPenalty,
  openR1Length,
  openR1CodeFormat,
];
