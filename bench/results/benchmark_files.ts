/** Writes the files of a finished benchmark: one for each task and one for all tasks. */
import { writeFilesAtomic } from "../../core/atomic_file.ts";
import { fileName } from "../../core/paths.ts";
import {
  type AllTasksResultFile,
  type ExampleResult,
  type ExampleTexts,
  resultFileBytes,
  type TaskResults,
} from "./result_file.ts";

/** If the examples have more bytes than this, the combined file has none. */
const MAX_EXAMPLE_BYTES = 64e6;

/**
 * @param folder an existing folder
 * @returns the paths of the files; that of the combined file comes last
 */
export async function writeResults(folder: string, result: AllTasksResultFile): Promise<string[]> {
  const { kind: _, tasks, average: __, parts, failures: ___, ...header } = result;
  const files = new Map<string, Uint8Array>(), texts: ExampleTexts = new Map();
  parts.length = 0;
  for (const [label, task] of Object.entries(tasks)) {
    const name = `results_${fileName(label)}_${result.stamp}.json`;
    parts.push(name);
    files.set(`${folder}/${name}`, resultFileBytes({ ...header, kind: "task", ...task }, texts));
  }
  let size = 0;
  for (const text of texts.values()) size += text.length;
  const all = size > MAX_EXAMPLE_BYTES ? { ...result, tasks: withoutExamples(tasks) } : result;
  // The combined file gets its name last: when it appears, the files of the tasks are there.
  files.set(`${folder}/results_all_tasks_${result.stamp}.json`, resultFileBytes(all, texts));
  await writeFilesAtomic(files);
  return [...files.keys()];
}

/** The results without examples. */
export function withoutExamples(tasks: Record<string, TaskResults>): Record<string, TaskResults> {
  return Object.fromEntries(
    Object.entries(tasks).map(([label, task]) => [label, {
      ...task,
      models: Object.fromEntries(
        Object.entries(task.models).map(([name, model]) => [name, { ...model, examples: [] }]),
      ),
    }]),
  );
}

/** JSON Lines for `--samples-out`, one line for each example. */
export function* exampleLines(result: AllTasksResultFile): Generator<string> {
  for (const [task, { models }] of Object.entries(result.tasks)) {
    for (const [model, { examples }] of Object.entries(models)) {
      for (const example of examples) {
        yield JSON.stringify({ task, model, ...example } satisfies ExampleLine);
      }
    }
  }
}

type ExampleLine = ExampleResult & { task: string; model: string };
