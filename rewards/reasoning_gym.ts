/** reasoning-gym's rewards. */
import { bool, float, int } from "../tasks/define.ts";
import { codePoints, PYTHON_SPACE } from "../tasks/python/text.ts";
import { taskScore } from "./task_answer.ts";
import type { Reward, SampleReward } from "./types.ts";

const BEGINS = new RegExp(
  `^[${PYTHON_SPACE}]*<think>[^]*?</think>[${PYTHON_SPACE}]*<answer>[^]*?</answer>`,
);

const rgFormat: SampleReward = {
  name: "rg_format",
  description: "1 when the text begins <think>…</think> <answer>…</answer>, each pair " +
    "occurring once and holding no other; else 0.",
  defaultWeight: 0.2,
  params: {
    preappend_thinking_token: bool(false, "the prompt ends in <think>: put it before the text"),
  },
  compute({ completion }, { preappend_thinking_token }) {
    const text = preappend_thinking_token ? `<think>${completion}` : completion;
    const thoughts = tagContents(text, "think"), answers = tagContents(text, "answer");
    if (thoughts.length !== 1 || answers.length !== 1) return 0;
    if (/<think>|<answer>/.test(thoughts[0]! + "\n" + answers[0]!)) return 0;
    // With one pair of each tag the lazy pattern has few ways to match, so it cannot take long.
    return BEGINS.test(text) ? 1 : 0;
  },
};

const rgCosine: SampleReward = {
  name: "rg_cosine",
  description:
    "By the task's score and characters: a right answer falls from 1 to 0.95, a wrong one " +
    "rises from 0 to 0.7 at max_len characters.",
  needs: ["answer"],
  params: {
    max_len: int(1000, "characters of half a cosine", { min: 1 }),
    clamp: bool(false, "stay at the last value beyond max_len (else the cosine swings back)"),
  },
  compute(input, { max_len, clamp }) {
    const ratio = codePoints(input.completion) / Number(max_len);
    const wave = 1 + Math.cos(Math.PI * (clamp ? Math.min(ratio, 1) : ratio));
    return taskScore(input) === 1 ? 0.95 + 0.5 * 0.05 * wave : 0.7 - 0.5 * 0.7 * wave;
  },
};

/** An answer that is not right should at least be long. */
const rgLength: SampleReward = {
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

const TAGS = ["<think>", "</think>", "<answer>", "</answer>"];

const rgTagCount: SampleReward = {
  name: "rg_tag_count",
  description: "0.25 for each of <think>, </think>, <answer>, </answer> that occurs.",
  params: {},
  compute: ({ completion }) => TAGS.filter((tag) => completion.includes(tag)).length * 0.25,
};

const OPEN = "<think>", MIDDLE = "</think>\n<answer>", END = "</answer>";

const rgFormatStrict: SampleReward = {
  name: "rg_format_strict",
  description:
    "1 when the completion is <think>…</think>, a line break, <answer>…</answer> and at " +
    "most one more line break; else 0.",
  params: {},
  compute({ completion }) {
    const text = completion.endsWith("\n") ? completion.slice(0, -1) : completion;
    if (!text.startsWith(OPEN) || !text.endsWith(END)) return 0;
    const close = text.indexOf("</think>");
    if (close < OPEN.length || !text.startsWith(MIDDLE, close)) return 0;
    if (close + MIDDLE.length > text.length - END.length) return 0;
    return text.slice(OPEN.length, close).includes(OPEN) ? 0 : 1;
  },
};

/** Python's `re.findall(r"<tag>(.*?)</tag>", text, re.DOTALL)`, in linear time. */
export function tagContents(text: string, tag: string): string[] {
  const open = `<${tag}>`, close = `</${tag}>`, found: string[] = [];
  for (let from = 0;;) {
    const start = text.indexOf(open, from);
    const end = start < 0 ? -1 : text.indexOf(close, start + open.length);
    if (end < 0) return found;
    found.push(text.slice(start + open.length, end));
    from = end + close.length;
  }
}

export const REASONING_GYM_REWARDS: readonly Reward[] = [
  rgFormat,
  rgCosine,
  rgLength,
  rgTagCount,
  rgFormatStrict,
];
