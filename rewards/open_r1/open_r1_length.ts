/** open-r1's length reward, from Kimi k1.5 (section 2.3.3): short right answers are worth most. */
import { codePoints } from "../../tasks/python/text.ts";
import { mathAccuracy } from "../trl/accuracy_reward.ts";
import type { BatchReward } from "../types.ts";

export const openR1Length: BatchReward = {
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
