/** open-r1's code_format reward: its format, and a block of code in the answer. */
import { text } from "../../tasks/define.ts";
import type { SampleReward } from "../types.ts";
import { hasInOrder } from "./in_order.ts";

const LANGUAGES = ["python", "javascript", "r", "java", "bash", "cpp"];

export const openR1CodeFormat: SampleReward = {
  name: "open_r1_code_format",
  description: "1 when the completion has the form of open_r1_format and its answer a block of " +
    "code in the language, or in that of the data's column language; else 0.",
  params: { language: text("python", "language of the code", LANGUAGES) },
  // open-r1: r"^<think>\n.*?\n</think>\n<answer>\n.*?```{language}.*?```.*?\n</answer>$"
  compute({ completion, info }, params) {
    const column = info["language"];
    const language = typeof column === "string" ? column : String(params["language"]);
    const parts = ["\n</think>\n<answer>\n", "```" + language, "```"];
    return hasInOrder(completion, "<think>\n", parts, "\n</answer>") ? 1 : 0;
  },
};
