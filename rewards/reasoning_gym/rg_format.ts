/** reasoning-gym's secondary reward `format`: thoughts and answer in their tags. */
import { PYTHON_SPACE } from "../../tasks/python/text.ts";
import { bool } from "../../tasks/define.ts";
import { tagContents } from "../tag_contents.ts";
import type { SampleReward } from "../types.ts";

const BEGINS = new RegExp(
  `^[${PYTHON_SPACE}]*<think>[^]*?</think>[${PYTHON_SPACE}]*<answer>[^]*?</answer>`,
);

export const rgFormat: SampleReward = {
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
