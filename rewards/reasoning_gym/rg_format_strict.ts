/** The strict format of reasoning-gym's unsloth example. */
import type { SampleReward } from "../types.ts";

const OPEN = "<think>", MIDDLE = "</think>\n<answer>", END = "</answer>";

export const rgFormatStrict: SampleReward = {
  name: "rg_format_strict",
  description:
    "1 when the completion is <think>…</think>, a line break, <answer>…</answer> and at " +
    "most one more line break; else 0.",
  params: {},
  compute({ completion }) {
    const text = completion.endsWith("\n") ? completion.slice(0, -1) : completion;
    if (!text.startsWith(OPEN) || !text.endsWith(END)) return 0;
    const close = text.indexOf("</think>");
    if (close < OPEN.length || !text.startsWith(MIDDLE, close)) return 0;
    if (close + MIDDLE.length > text.length - END.length) return 0;
    return text.slice(OPEN.length, close).includes(OPEN) ? 0 : 1;
  },
};
