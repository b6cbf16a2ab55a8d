/** open-r1's tag_count reward: a quarter for each tag with its line breaks. */
import type { SampleReward } from "../types.ts";

const TAGS = ["<think>\n", "\n</think>\n", "\n<answer>\n", "\n</answer>"];

export const openR1TagCount: SampleReward = {
  name: "open_r1_tag_count",
  description: "0.25 for each of <think>, </think>, <answer>, </answer> that occurs exactly once " +
    "with the line breaks that open_r1_format wants around it.",
  params: {},
  // In the form that is wanted, </think> and <answer> share one line break: both are found.
  compute: ({ completion }) =>
    TAGS.filter((tag) => completion.split(tag).length === 2).length * 0.25,
};
