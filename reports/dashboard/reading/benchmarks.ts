/** The results of benchmarks for the page: numbers with intervals, and every problem's answer. */
import { isCorrect } from "../../../bench/evaluation/accuracy.ts";
import { averageAccuracy } from "../../../bench/results/average.ts";
import {
  readResultFile,
  type ResultFile,
  samplesOf,
  type TaskResults,
} from "../../../bench/results/result_file.ts";
import { folderOf } from "../../../core/paths.ts";
import type { BenchmarkDetails, BenchmarkInfo, ExamplePage, ExampleRow } from "../api.ts";
import type { FoundBenchmark } from "./find_runs.ts";
import { plainFile } from "./plain_file.ts";

export interface ExampleFilter {
  task: string;
  /** "": all models. */
  model: string;
  outcome: "all" | "right" | "wrong" | "unanswered";
  text: string;
  offset: number;
  limit: number;
}

type TaskModel = TaskResults["models"][string];

interface Kept {
  /** Size and time of the file that was read. */
  version: string;
  file: ResultFile | null;
  problem: string | null;
}

/** Number of parsed files that are kept; files may have many megabytes. */
const MAX_KEPT = 8;
const MAX_FILE_BYTES = 2 ** 29;

/** Reads result files, and keeps the newest ones until they change. */
export class Benchmarks {
  readonly #kept = new Map<string, Kept>();

  async #read({ path }: FoundBenchmark): Promise<Kept> {
    const info = await Deno.lstat(path).catch(() => null);
    const version = `${info?.size} ${info?.mtime?.getTime()}`;
    const before = this.#kept.get(path);
    this.#kept.delete(path);
    let kept: Kept;
    if (before?.version === version) kept = before;
    else {
      try {
        await plainFile(path, MAX_FILE_BYTES);
        kept = { version, file: await readResultFile(path), problem: null };
      } catch (error) {
        kept = { version, file: null, problem: (error as Error).message };
      }
    }
    this.#kept.set(path, kept);
    while (this.#kept.size > MAX_KEPT) this.#kept.delete(this.#kept.keys().next().value!);
    return kept;
  }

  /** An entry of the list, from the name alone: files may be large. */
  info({ id, path }: FoundBenchmark): BenchmarkInfo {
    const name = path.split("/").at(-1)!.replace(/^results_|\.json$/g, "");
    const [, day, time] = /_(\d{8})_(\d{6})$/.exec(name) ?? [];
    return {
      id,
      name,
      folder: folderOf(path),
      created: day === undefined
        ? null
        : `${day.replace(/(....)(..)/, "$1-$2-")} ${time!.replace(/(..)(..)/, "$1:$2:")}`,
    };
  }

  async details(found: FoundBenchmark): Promise<BenchmarkDetails> {
    const { file, problem } = await this.#read(found);
    const tasks = tasksOf(file);
    const models = [...new Set(tasks.flatMap((task) => Object.keys(task.models)))];
    return {
      ...this.info(found),
      tasks: tasks.map(({ task }) => task),
      models,
      problem,
      created: file?.created ?? null,
      results: tasks.map((task) => ({
        task: task.task,
        models: Object.entries(task.models)
          .map(([model, { examples: _, ...result }]) => ({ ...result, model })),
      })),
      averages: tasks.length < 2 ? [] : models.flatMap((model) => {
        const all: (TaskModel | undefined)[] = tasks.map((task) => task.models[model]);
        // As in `rgx bench`, a task without any answer of the model is not counted.
        const answered = all.filter((result) => result !== undefined && result.total > 0);
        return all.includes(undefined) || answered.length === 0
          ? []
          : [{ model, ...averageAccuracy(answered.map((result) => result!)) }];
      }),
      comparisons: tasks.flatMap(({ comparisons }) => comparisons),
      failures: file?.kind === "all_tasks" ? file.failures : [],
    };
  }

  /** The problems of a task, each with the answers of its models. */
  async examples(found: FoundBenchmark, filter: ExampleFilter): Promise<ExamplePage> {
    const { file } = await this.#read(found);
    const task = tasksOf(file).find((one) => one.task === filter.task);
    const rows = new Map<number, ExampleRow>();
    for (const [model, { examples }] of Object.entries(task?.models ?? {})) {
      for (const example of examples) {
        const { index, question, expected } = example;
        const row = rows.get(index) ?? { index, question, expected: expected ?? null, answers: [] };
        rows.set(index, row);
        for (const sample of samplesOf(example)) {
          const extracted = sample.extracted ?? null, isRight = isCorrect(sample);
          row.answers.push({ ...sample, extracted, model, isRight });
        }
      }
    }
    const fitting = [...rows.values()].filter((row) => fits(row, filter))
      .sort((a, b) => a.index - b.index);
    const end = filter.offset + filter.limit;
    return {
      rows: fitting.slice(filter.offset, end),
      total: fitting.length,
      next: end < fitting.length ? end : null,
    };
  }
}

function tasksOf(file: ResultFile | null): TaskResults[] {
  if (file === null) return [];
  return file.kind === "task" ? [file] : Object.values(file.tasks);
}

/** Whether one answer, of the chosen model, has the outcome and the text. */
function fits({ question, expected, answers }: ExampleRow, filter: ExampleFilter): boolean {
  const { model, outcome } = filter, wanted = filter.text.toLowerCase();
  return answers.some((answer) => {
    if (model !== "" && answer.model !== model) return false;
    const isFound = wanted === "" ||
      [question, answer.completion, expected ?? "", answer.extracted ?? ""]
        .some((part) => part.toLowerCase().includes(wanted));
    if (!isFound || outcome === "all") return isFound;
    if (outcome === "unanswered") return answer.extracted === null;
    return answer.isRight === (outcome === "right");
  });
}
