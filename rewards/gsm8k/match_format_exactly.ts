/** 3 points if the completion has the format of the GSM8K recipe. */
import { findSolution } from "../../data/solution_format.ts";
import type { SampleReward } from "../types.ts";

export const matchFormatExactly: SampleReward = {
  name: "match_format_exactly",
  description:
    "3 when working out and solution stand in their tags, in order and on lines of their own; " +
    "else 0.",
  params: {},
  compute: ({ completion }) => findSolution(completion) === null ? 0 : 3,
};
