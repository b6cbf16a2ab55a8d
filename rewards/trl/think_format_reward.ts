/** TRL's think_format_reward: the format of reasoning models. */
import type { SampleReward } from "../types.ts";

const OPEN = "<think>";

export const thinkFormatReward: SampleReward = {
  name: "think_format_reward",
  description:
    "1 when the completion begins with <think>, has no second one, and a </think> follows.",
  params: {},
  // TRL: re.match(r"^<think>(?!.*<think>)(.*?)</think>.*$", completion, DOTALL | MULTILINE)
  compute({ completion }) {
    const begins = completion.startsWith(OPEN) && !completion.includes(OPEN, OPEN.length);
    return begins && completion.includes("</think>", OPEN.length) ? 1 : 0;
  },
};
