/** The tag count of reasoning-gym's TRL example. */
import type { SampleReward } from "../types.ts";

const TAGS = ["<think>", "</think>", "<answer>", "</answer>"];

export const rgTagCount: SampleReward = {
  name: "rg_tag_count",
  description: "0.25 for each of <think>, </think>, <answer>, </answer> that occurs.",
  params: {},
  compute: ({ completion }) => TAGS.filter((tag) => completion.includes(tag)).length * 0.25,
};
