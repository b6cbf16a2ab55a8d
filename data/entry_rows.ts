/**
 * Rows that are entries of tasks, as reasoning-gym and `rgx tasks export` write them: question,
 * answer and metadata with the task's name. A row may also hold its entry in a field `entry`, as
 * the lines of `rgx score` do.
 */
import { UsageError } from "../core/errors.ts";
import { didYouMean } from "../core/suggest.ts";
import { hasTask, taskNames } from "../tasks/registry.ts";
import { publishedFormat } from "./published_formats.ts";
import { isRecord } from "../core/json_file.ts";
import type { DataRow } from "./read_rows.ts";

export interface EntryRow extends DataRow {
  task: string;
}

/** @throws UsageError for a row that is no entry of a known task */
export function entryRows(rows: readonly DataRow[]): EntryRow[] {
  return rows.map(({ columns: row, place }) => {
    const { entry } = row;
    const columns = isRecord(entry) ? entry : row;
    return { columns, place, task: taskOf(columns, place) };
  });
}

function taskOf({ question, metadata }: DataRow["columns"], place: string): string {
  const advice = 'An entry is {"question": "…", "answer": "…", "metadata": {"source_dataset": ' +
    '"chain_sum", …}}; other data: --tasks file=PATH.';
  if (typeof question !== "string") throw new UsageError(`${place}: no question`, { advice });
  const fields = typeof metadata === "object" && metadata !== null ? metadata : {};
  const task = (fields as Record<string, unknown>)["source_dataset"];
  if (typeof task !== "string") {
    throw new UsageError(`${place}: metadata.source_dataset: expected the name of a task`, {
      advice,
    });
  }
  if (hasTask(task) || publishedFormat(task) !== null) return task;
  throw new UsageError(
    `${place}: metadata.source_dataset: no task "${task}"${didYouMean(task, taskNames())}`,
    { advice: "rgx tasks list shows all tasks." },
  );
}
