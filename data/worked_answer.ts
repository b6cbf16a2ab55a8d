/**
 * The completion that a supervised warm start imitates: the one that a data file gives, word for word, else the
 * answer in its tags and nothing else.
 */
import { UsageError } from "../core/errors.ts";
import { FILE_SOURCE } from "./score.ts";
import type { Entry } from "../tasks/types.ts";

/** Throws for entries with many right answers (answer null) and no completion. */
export function workedAnswer(entry: Entry): string {
  const { completion } = entry.metadata;
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
