/** `rgx bench --entries`: entries that exist already, of any number of tasks in a file. */
import type { TaskRequest } from "../../bench/plan/test_set.ts";
import { UsageError } from "../../core/errors.ts";
import { entryRows } from "../../data/entry_rows.ts";
import { readRows } from "../../data/read_rows.ts";
import { getTask, hasTask } from "../../tasks/registry.ts";

/**
 * One request for each task of each file, with all of its entries, or `maxEntries` of them.
 * @throws UsageError for a file or line that cannot be used
 */
export async function readEntryRequests(
  paths: readonly string[],
  maxEntries = Infinity,
): Promise<TaskRequest[]> {
  const requests: TaskRequest[] = [];
  for (const path of paths) {
    const byTask = Map.groupBy(entryRows(await readRows([path])), ({ task }) => task);
    if (byTask.size === 0) throw new UsageError(`--entries ${path}: there are no entries`);
    for (const [task, rows] of byTask) {
      requests.push({
        name: "file",
        label: task,
        path,
        entriesOf: task,
        size: Math.min(rows.length, maxEntries),
        category: hasTask(task) ? getTask(task).category : null,
      });
    }
  }
  return requests;
}
