/** The results of benchmarks for the page: numbers with intervals, and every problem's answer. */
import type { Context } from "hono";
import { isCorrect } from "../../../bench/evaluation/accuracy.ts";
import {
  type ExampleResult,
  readResultFile,
  type ResultFile,
  type SampleResult,
  samplesOf,
  type TaskResults,
  withoutExamples,
} from "../../../bench/results/result_file.ts";
import { folderOf } from "../../../core/paths.ts";
import type { FoundBenchmark } from "./find_runs.ts";
import { FileCache, plainFile } from "./plain_file.ts";
import { choice, limitOf, number, text } from "./query.ts";

/** Number of parsed files that are kept; files may have many megabytes. */
const MAX_KEPT = 8;
const MAX_FILE_BYTES = 2 ** 29;

export type BenchmarkDetails = Awaited<ReturnType<Benchmarks["details"]>>;
export type ExamplePage = Awaited<ReturnType<Benchmarks["examples"]>>;

type ExampleFilter = ReturnType<typeof exampleFilter>;

export function exampleFilter(c: Context) {
  return {
    task: text(c, "task"),
    /** "": all models. */
    model: text(c, "model"),
    outcome: choice(c, "outcome", ["all", "right", "wrong", "unanswered"]),
    text: text(c, "text"),
    offset: Math.max(0, number(c, "offset") ?? 0),
    limit: limitOf(c),
  };
}

/** An answer of a model to a problem. */
export interface ExampleAnswer extends SampleResult {
  model: string;
  isRight: boolean;
}

/** A problem with the answers of all models. */
export interface ExampleRow extends Pick<ExampleResult, "index" | "question" | "expected"> {
  answers: ExampleAnswer[];
}

/** An entry of the list, from the name alone: files may be large. */
export function benchmarkInfo({ id, path }: FoundBenchmark) {
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

/** Reads result files, and keeps the newest ones until they change. */
export class Benchmarks {
  readonly #files = new FileCache<{ file: ResultFile | null; problem: string | null }>(MAX_KEPT);

  #read(path: string): Promise<{ file: ResultFile | null; problem: string | null }> {
    return this.#files.get(path, async () => {
      try {
        await plainFile(path, MAX_FILE_BYTES);
        return { file: await readResultFile(path), problem: null };
      } catch (error) {
        return { file: null, problem: (error as Error).message };
      }
    });
  }

  /** The results without the problems, or why the file cannot be shown. */
  async details({ id, path }: FoundBenchmark) {
    const { file, problem } = await this.#read(path);
    const all = file?.kind === "all_tasks" ? file : null;
    return {
      id,
      problem,
      created: file?.created ?? null,
      tasks: Object.values(withoutExamples(tasksOf(file))),
      average: all?.average ?? {},
      failures: all?.failures ?? [],
    };
  }

  /** The problems of a task, each with the answers of its models. */
  async examples({ path }: FoundBenchmark, filter: ExampleFilter) {
    const { file } = await this.#read(path);
    const task = Object.values(tasksOf(file)).find((one) => one.task === filter.task);
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
      /** Number of problems that fit the filter. */
      total: fitting.length,
      next: end < fitting.length ? end : null,
    };
  }
}

function tasksOf(file: ResultFile | null): Record<string, TaskResults> {
  return file === null ? {} : file.kind === "task" ? { [file.task]: file } : file.tasks;
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
