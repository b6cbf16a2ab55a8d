/** The completion that a supervised warm start imitates: the answer in its tags, and nothing else. */
import { RgxError } from "../core/errors.ts";
import type { Entry } from "../tasks/types.ts";

/** Throws for entries with many right answers (answer null). */
export function workedAnswer(entry: Entry): string {
  if (entry.answer === null) {
    const task = String(entry.metadata["source_dataset"]);
    throw new RgxError(`an entry of ${task} has no single right answer that could be imitated`, {
      advice: "choose another task for the supervised warm start, or leave the warm start out",
    });
  }
  return `<answer>${entry.answer}</answer>`;
}
