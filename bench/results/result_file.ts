/**
 * The format of a benchmark's result files, `results_{task}_{stamp}.json` and
 * `results_all_tasks_{stamp}.json`. They hold everything that is needed to repeat the measurement.
 * Files of another format version are refused. Intervals are 95 % intervals: Wilson's for
 * accuracies, bootstrap intervals for mean scores (bench/evaluation/intervals.ts).
 */
import type { RemoteUsage } from "../../core/remote/server.ts";
import { RgxError, UsageError } from "../../core/errors.ts";
import { isRecord } from "../../core/json_file.ts";
import { readText, whyNotJson, whyUnreadable } from "../../core/text_file.ts";
import type { DialogueRecord } from "../dialogue/dialogue.ts";
import type { Accuracy } from "../evaluation/accuracy.ts";
import type { PairedTest } from "../evaluation/matched_pairs.ts";
import type { PromptSettings } from "../evaluation/prompt_settings.ts";
import type { SamplingSettings } from "../evaluation/sampling.ts";
import { writeFilesAtomic } from "../../core/atomic_file.ts";
import { fileName } from "../../core/paths.ts";

/** Increased when the meaning of the file changes, so that older programs refuse it. */
export const RESULT_FORMAT = 1;

/** The ends of an interval. */
export type Interval = [low: number, high: number];

/** How completions were drawn. */
export interface Sampling extends SamplingSettings {
  /** Completions of each problem. */
  samples: number;
}

/** How questions became prompts for a model. */
export interface PromptRecord extends PromptSettings {
  /** Where these settings are from: the checkpoint's run, the benchmark, or the defaults. */
  from: "checkpoint" | "benchmark" | "default";
}

/** One completion of a problem. */
export interface SampleResult {
  /** The text, without the prompt. */
  completion: string;
  /** null: no answer could be extracted. */
  extracted: string | null;
  /** false for an answer without the form that was asked for; else absent. */
  formatted?: false;
  /** From 0 to 1. */
  score: number;
  /** Whether it was cut off before its end. */
  truncated: boolean;
  /** Its number of tokens. */
  completion_tokens: number;
  /** The thoughts that a remote model returns beside its answer; not searched for the answer. */
  reasoning?: string;
  /** Why there is no completion. The sample counts as unanswered, not as wrong. */
  error?: string;
  /** The model was not asked, since the prompt leaves no room for an answer. */
  too_long?: true;
  /** With environments and tools: the dialogue, whose last answer is `completion`. */
  dialogue?: DialogueRecord;
}

/** A problem and its first completion; `samples` holds all completions where there are several. */
export interface ExampleResult extends SampleResult {
  /** The problem's index in its data set. */
  index: number;
  /** The text of the problem. */
  question: string;
  /** null: the problem has many right answers. */
  expected: string | null;
  /** The problem's metadata. */
  metadata: Record<string, unknown>;
  /** All completions, the first one included; absent with one a problem. */
  samples?: SampleResult[];
}

/** All samples of a problem. */
export function samplesOf(example: ExampleResult): readonly SampleResult[] {
  return example.samples ?? [example];
}

/** Measures of several samples a problem. Keys of `pass_at`: k = 1, 2, 4 … and all samples. */
export interface SampleStatistics {
  /** Completions of each problem. */
  k: number;
  /** Problems of which all k samples are answered; only these count here. */
  problems: number;
  /** Unbiased estimate of the chance that one of k samples is correct. */
  pass_at: Record<string, number>;
  /** Mean accuracy of a sample. */
  avg_at_k: number;
  /** Accuracy of the most frequent answer. */
  majority_at_k: number;
}

/** Measures of a model's dialogues about a task. */
export interface DialogueSummary {
  /** Names of the environments and of the files with tools. */
  with: string[];
  /** Mean reward of the environment; null = it gives none. */
  reward: number | null;
  /** Mean number of answers of the model in a dialogue. */
  answers: number;
  /** Under the names of `metrics.jsonl`: turns, calls of tools, shares of the reasons for ends. */
  metrics: Record<string, number>;
}

/**
 * A model on a task. Failed completions and too long prompts are not in `total`; `ci95` has as many
 * observations as there are problems.
 */
export interface ModelResult extends Accuracy {
  /** Interval of `mean_score`. */
  mean_score_ci95: Interval;
  /** Number of problems. */
  num_examples: number;
  /** Completions that failed after all attempts. */
  errors: number;
  /** Completions that were not asked for, since the prompt has more tokens than the model takes. */
  too_long: number;
  /** Accuracy where completions that failed or were not asked for count as wrong. */
  accuracy_of_all: number;
  /** How questions became prompts. */
  prompt: PromptRecord;
  /**
   * Test problems that the checkpoint saw in training, by its run's configuration; null = unknown.
   */
  overlap: number | null;
  /** null with one sample a problem. */
  samples: SampleStatistics | null;
  /** Only with environments and tools. */
  dialogues?: DialogueSummary;
  /** Tokens and seconds; for a remote model the server counts the tokens. */
  usage: { prompt_tokens: number; completion_tokens: number; seconds: number };
  /** Where the model ran: "wasm, 2 threads", or the server's address. */
  device: string;
  /** The problems with their completions, in order. */
  examples: ExampleResult[];
}

/** Two models on the problems of a task that both answered. */
export interface PairedComparison extends PairedTest {
  /** The name of the task in charts and tables. */
  task: string;
  /** Name of the first model. */
  first: string;
  /** Name of the second model. */
  second: string;
}

/** The results of the models on one task. */
export interface TaskResults {
  /** The task's name in charts and tables. */
  task: string;
  /** The registered name of the task, or the name of the data set. */
  task_name: string;
  /** The group of tasks that it belongs to; null = none. */
  category: string | null;
  /** The task's parameters, all of them. */
  parameters: Record<string, unknown>;
  /** Seed of the problems. */
  seed: number;
  /** Results by the name of the model. */
  models: Record<string, ModelResult>;
  /** Each pair of models with problems that both answered. */
  comparisons: PairedComparison[];
}

/** The first fields of all result files. */
export interface RunHeader {
  /** Version of the format. */
  format: typeof RESULT_FORMAT;
  /** ISO 8601, UTC. */
  created: string;
  /** YYYYMMDD_HHMMSS, as in the names of all files of the benchmark. */
  stamp: string;
  /** Version of rgx. */
  rgx_version: string;
  /** Version of Deno. */
  deno_version: string;
  /** Seed of the problems, for tasks without a seed of their own. */
  seed: number;
  /** Seed of the draws. */
  sampling_seed: number;
  /** How completions were drawn. */
  sampling: Sampling;
  /** Only with remote models. */
  remote?: RemoteUsage;
}

/** `results_{task}_{stamp}.json` */
export interface TaskResultFile extends RunHeader, TaskResults {
  /** What the file is. */
  kind: "task";
}

/**
 * A model's average over the tasks on which it answered anything; NaN (null in JSON) without any.
 */
export interface ModelAverage {
  /** Number of these tasks. */
  tasks: number;
  /** Mean of the tasks' accuracies; each task counts the same. */
  accuracy: number;
  /** Interval of `accuracy`. */
  ci95: Interval;
  /** Mean of the tasks' mean scores. */
  mean_score: number;
  /** Mean of the tasks' format rates. */
  format_rate: number;
}

/** `results_all_tasks_{stamp}.json`; a very long file has no examples. */
export interface AllTasksResultFile extends RunHeader {
  /** What the file is. */
  kind: "all_tasks";
  /** Results by the name of the task in charts and tables. */
  tasks: Record<string, TaskResults>;
  /** Averages by the name of the model. */
  average: Record<string, ModelAverage>;
  /** Names of the files of the tasks, in the same folder. */
  parts: string[];
  /** Combinations of a model and a task that failed, and single requests that did. */
  failures: Failure[];
}

/** Problems without an answer, and the reason. */
export interface Failure {
  /** Name of the model. */
  model: string;
  /** The name of the task in charts and tables. */
  task: string;
  /** Why it failed. */
  error: string;
  /** The `index` of the problems without an answer for this reason; absent = the whole task. */
  problems?: number[];
}

/** A result file: of one task, or of all tasks of a benchmark. */
export type ResultFile = TaskResultFile | AllTasksResultFile;

/** A result as indented JSON, with each example on one line. */
export function resultFileBytes(result: ResultFile): Uint8Array<ArrayBuffer> {
  const encoder = new TextEncoder(), order: Uint8Array[] = [];
  const framed = (task: TaskResults) => {
    const models: Record<string, unknown> = {};
    for (const [name, model] of Object.entries(task.models)) {
      const lines = model.examples.map((one) => `\n${JSON.stringify(one)}`);
      order.push(encoder.encode(`[${lines.join()}\n]`));
      models[name] = { ...model, examples: PLACEHOLDER };
    }
    return { ...task, models };
  };
  const tasks = result.kind === "task" ? [] : Object.entries(result.tasks);
  const frame = result.kind === "task"
    ? framed(result)
    : { ...result, tasks: Object.fromEntries(tasks.map(([name, task]) => [name, framed(task)])) };
  const parts = `${JSON.stringify(frame, null, 1)}\n`.split(JSON.stringify(PLACEHOLDER))
    .flatMap((part, i) => i === 0 ? [encoder.encode(part)] : [order[i - 1]!, encoder.encode(part)]);
  const bytes = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

/** Marks the place of a list of examples; not a text that a user would write. */
const PLACEHOLDER = "\0examples\0";

/**
 * Reads the results of one task or of a whole benchmark.
 * @throws UsageError when there is no such file, RgxError when it is not a result file of this
 *   version
 */
export async function readResultFile(path: string): Promise<ResultFile> {
  let text: string;
  try {
    text = await readText(path);
  } catch (cause) {
    throw new UsageError(`cannot read the result file ${path}: ${whyUnreadable(cause)}`, { cause });
  }
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (cause) {
    throw new RgxError(`${path}: not valid JSON: ${whyNotJson(cause)}`, {
      advice: "The file is damaged or no result file: run the benchmark again.",
      cause,
    });
  }
  return checkResultFile(json, path);
}

/** @param place the file's path, for messages */
export function checkResultFile(json: unknown, place: string): ResultFile {
  const file = objectIn(json, place);
  if (typeof file["format"] !== "number") {
    throw new RgxError(`${place}: not a result file of rgx bench: it has no number "format"`, {
      advice: "Result files are named results_….json and lie in benchmark_results/.",
    });
  }
  if (file["format"] !== RESULT_FORMAT) {
    throw new RgxError(
      `${place}: result format ${file["format"]}, this version reads format ${RESULT_FORMAT}`,
      { advice: "Run the benchmark again with this version, or read the file with its own." },
    );
  }
  HEADER(file, place);
  if (file["kind"] === "task") TASK(file, place);
  else if (file["kind"] === "all_tasks") ALL_TASKS(file, place);
  else throw wrong(`${place}: kind`, '"task" or "all_tasks"', file["kind"]);
  return json as ResultFile;
}

/** Throws an error that names the place, unless the value is what is expected there. */
type Check = (value: unknown, place: string) => void;

function expected(what: string, fits: (value: unknown) => boolean): Check {
  return (value, place) => {
    if (!fits(value)) throw wrong(place, what, value);
  };
}

/** An object with these fields, and any others. */
function fields(checks: Readonly<Record<string, Check>>): Check {
  return (value, place) => {
    const found = objectIn(value, place);
    for (const [name, check] of Object.entries(checks)) check(found[name], `${place}: ${name}`);
  };
}

/** An object or a list whose values all are so. */
function each(check: Check, kind: Check): Check {
  return (value, place) => {
    kind(value, place);
    for (const [name, one] of Object.entries(value as object)) check(one, `${place}.${name}`);
  };
}

const text = expected("a text", (value) => typeof value === "string");
const number = expected("a number", (value) => typeof value === "number");
const isShare = (value: unknown) => typeof value === "number" && value >= 0 && value <= 1;
const share = expected("a share from 0 to 1", isShare);
const object = expected("an object", isRecord);
const list = expected("a list", Array.isArray);
function isInterval(value: unknown): boolean {
  if (!Array.isArray(value) || value.length !== 2) return false;
  const [low, high] = value;
  return typeof low === "number" && typeof high === "number" && low <= high;
}
const interval = expected("[low, high]", isInterval);
const shareInterval = expected(
  "[low, high] from 0 to 1",
  (value) => isInterval(value) && (value as unknown[]).every(isShare),
);

const EXAMPLE = fields({ question: text, completion: text, score: number });
const MODEL = fields({
  accuracy: share,
  correct: number,
  total: number,
  ci95: shareInterval,
  mean_score: number,
  mean_score_ci95: interval,
  format_rate: share,
  truncated_rate: share,
  mean_completion_tokens: number,
  num_examples: number,
  prompt: object,
  examples: each(EXAMPLE, list),
});
const withExamples: Check = (value, place) => {
  // A file may be without examples, to keep it small.
  objectIn(value, place)["examples"] ??= [];
  MODEL(value, place);
};
const TASK = fields({ task: text, comparisons: list, models: each(withExamples, object) });
const HEADER = fields({
  created: text,
  stamp: text,
  rgx_version: text,
  seed: number,
  sampling: object,
});
const ALL_TASKS = fields({
  tasks: each(TASK, object),
  average: object,
  parts: list,
  failures: list,
});

function objectIn(value: unknown, place: string): Record<string, unknown> {
  if (isRecord(value)) return value;
  throw wrong(place, "an object", value);
}

function wrong(place: string, expected: string, value: unknown): RgxError {
  const found = value === undefined ? "nothing" : (JSON.stringify(value) ?? "").slice(0, 60);
  return new RgxError(`${place}: expected ${expected}, found ${found}`, {
    advice: "The file is damaged or no result file of rgx bench.",
  });
}

// The files of a finished benchmark: one for each task and one for all tasks.

/** If the files of the tasks have more bytes than this, the combined file has no examples. */
const MAX_BYTES = 64e6;

/**
 * @param folder an existing folder
 * @returns the paths of the files; that of the combined file comes last
 */
export async function writeResults(folder: string, result: AllTasksResultFile): Promise<string[]> {
  const { kind: _, tasks, average: __, parts, failures: ___, ...header } = result;
  const files = new Map<string, Uint8Array>();
  let size = 0;
  parts.length = 0;
  for (const [label, task] of Object.entries(tasks)) {
    const name = `results_${fileName(label)}_${result.stamp}.json`;
    parts.push(name);
    const bytes = resultFileBytes({ ...header, kind: "task", ...task });
    files.set(`${folder}/${name}`, bytes);
    size += bytes.length;
  }
  const all = size > MAX_BYTES ? { ...result, tasks: withoutExamples(tasks) } : result;
  // The combined file gets its name last: when it appears, the files of the tasks are there.
  files.set(`${folder}/results_all_tasks_${result.stamp}.json`, resultFileBytes(all));
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
