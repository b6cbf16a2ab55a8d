/**
 * Scores an answer without a data set: the entry names its task. Entries made elsewhere with the
 * same names and metadata can be scored too. Before a task's own rule is applied, null, a
 * non-string and a blank answer score 0, unless the task allows a blank right answer.
 */
import { RgxError } from "../core/errors.ts";
import { isBlank } from "./python/text.ts";
import { getTask } from "./registry.ts";
import type { ScorableEntry } from "./types.ts";

/**
 * Returns the score in [0, 1] of an answer.
 * @throws RgxError when the entry does not name a known task
 */
export function scoreAnswer(answer: string | null, entry: ScorableEntry): number {
  const source = entry.metadata?.["source_dataset"];
  if (typeof source !== "string") {
    throw new RgxError(
      "cannot score an entry without a task: metadata.source_dataset must be a task's name, " +
        "found " +
        (JSON.stringify(source) ?? "nothing"),
    );
  }
  return scoreTaskAnswer(source, answer, entry);
}

/** Scores an answer by the rule of the named task, for entries that do not name one. */
export function scoreTaskAnswer(
  name: string,
  answer: string | null,
  entry: ScorableEntry,
): number {
  const task = getTask(name), source = entry.metadata?.["source_dataset"];
  // A composite uses the rule of the task that made the entry.
  if (task.open !== undefined && typeof source === "string" && source !== name) {
    return scoreTaskAnswer(source, answer, entry);
  }
  if (typeof answer !== "string") return 0;
  if (isBlank(answer)) {
    const oracleIsBlank = typeof entry.answer === "string" && isBlank(entry.answer);
    return task.acceptsBlank && oracleIsBlank ? 1 : 0;
  }
  const score = task.score(answer, entry);
  if (!Number.isFinite(score)) {
    throw new RgxError(`the scorer of task ${name} returned ${score}, not a number in [0, 1]`);
  }
  return Math.min(1, Math.max(0, score));
}
