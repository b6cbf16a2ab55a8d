/**
 * The completion that a supervised warm start imitates, and that worked examples in prompts show:
 * the completion of the data file, word for word; else the answer in its tags alone.
 */
import { UsageError } from "../core/errors.ts";
import { FILE_SOURCE } from "./score_completion.ts";
import { SYSTEM_PROMPTS } from "./prompt.ts";
import { TAGS } from "./solution_format.ts";
import type { Entry } from "../tasks/types.ts";

/**
 * @param systemPrompt name or text of the system prompt; "gsm8k" asks for a special form
 * @throws UsageError for an entry that has neither a single right answer nor a completion
 */
export function workedAnswer(entry: Entry, systemPrompt: string | null = null): string {
  const { completion, work } = entry.metadata;
  const asksForWork = systemPrompt === "gsm8k" || systemPrompt === SYSTEM_PROMPTS["gsm8k"];
  if (asksForWork && typeof work === "string" && entry.answer !== null) {
    return `${TAGS.workStart}\n${work}\n${TAGS.workEnd}\n` +
      `${TAGS.solutionStart}${entry.answer}${TAGS.solutionEnd}`;
  }
  if (typeof completion === "string") return completion;
  if (entry.answer === null) {
    const { source_dataset: task, source_index: index } = entry.metadata;
    const from = task === FILE_SOURCE ? "the data file" : `task ${task}`;
    throw new UsageError(
      `sft: entry ${index} of ${from} has no single right answer that could be imitated`,
      { advice: "Leave the warm start out (sft.max_steps=0), or choose data with answers." },
    );
  }
  return `<answer>${entry.answer}</answer>`;
}
