/** DAPO's soft punishment of completions near the limit (Yu et al. 2025, eq. 13), as in TRL. */
import { int } from "../../tasks/define.ts";
import type { SampleReward } from "../types.ts";

export const softOverlong: SampleReward = {
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
