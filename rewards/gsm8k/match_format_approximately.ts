/** Half a point for each tag of the GSM8K recipe that occurs exactly once. */
import { TAGS } from "../../data/solution_format.ts";
import type { SampleReward } from "../types.ts";

export const matchFormatApproximately: SampleReward = {
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
