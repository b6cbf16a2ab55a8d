/** open-r1's format reward: thoughts and answer in their tags, each tag on a line of its own. */
import type { SampleReward } from "../types.ts";
import { hasInOrder } from "./in_order.ts";

export const openR1Format: SampleReward = {
  name: "open_r1_format",
  description: "1 when the completion begins <think>, a line of its own, and has the lines " +
    "</think>, <answer> and, at the end of a line, </answer> after it, in this order; else 0.",
  params: {},
  // open-r1: re.match(r"^<think>\n.*?\n</think>\n<answer>\n.*?\n</answer>$", DOTALL | MULTILINE)
  compute: ({ completion }) =>
    hasInOrder(completion, "<think>\n", ["\n</think>\n<answer>\n"], "\n</answer>") ? 1 : 0,
};
