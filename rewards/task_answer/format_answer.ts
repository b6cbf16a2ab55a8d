/** 1 if the completion has an answer in its tags. */
import { extractAnswer } from "../../data/extract.ts";
import type { SampleReward } from "../types.ts";

export const formatAnswer: SampleReward = {
  name: "format_answer",
  description: "1 when the completion has an <answer>…</answer>, else 0.",
  params: {},
  compute: ({ completion }) => extractAnswer(completion) === null ? 0 : 1,
};
