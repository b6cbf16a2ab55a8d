/** The files of a finished benchmark: one a task, one for all, names as in result_file.ts. */
import { writeFilesAtomic } from "../../core/atomic_file.ts";
import { fileName } from "../../core/paths.ts";
import {
  type AllTasksResultFile,
  type ExampleResult,
  type ExampleTexts,
  resultFileBytes,
  type TaskResults,
} from "./result_file.ts";

/** Bytes of JSON beyond which the combined file leaves the examples to the files of the tasks. */
const MOST_EXAMPLES = 64e6;

/** Writes them into a folder that is there. @returns paths, that of the combined file last */
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
  const all = size > MOST_EXAMPLES ? { ...result, tasks: withoutExamples(tasks) } : result;
  // It gets its name last: who finds it finds those of the tasks.
  files.set(`${folder}/results_all_tasks_${result.stamp}.json`, resultFileBytes(all, texts));
  await writeFilesAtomic(files);
  return [...files.keys()];
}

/** The numbers alone. */
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

/** One line an example: for `--samples-out`. */
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
