/**
 * The result files of a benchmark: `results_{task}_{stamp}.json` and `results_all_tasks_{stamp}.json`, with
 * everything that is needed to repeat the measurement. Written whole or not at all; files of another format
 * version are refused. Intervals are 95 % ones: Wilson's for accuracies, bootstrap for mean scores.
 */
import { RgxError, UsageError } from "../../core/errors.ts";
import { readText, whyNotJson, whyUnreadable } from "../../core/text_file.ts";
import type { PromptSettings } from "../../evaluation/prompt_settings.ts";
import type { SamplingSettings } from "../../evaluation/sampling.ts";

/** Raised when a file's meaning changes, so that older programs refuse it. */
export const RESULT_FORMAT = 1;

export type Interval = [low: number, high: number];

/** How completions were drawn. */
export interface Sampling extends SamplingSettings {
  /** Completions of each problem. */
  samples: number;
}

/** How questions became prompts for a model. */
export interface PromptRecord extends PromptSettings {
  /** Where these settings come from: the configuration of the checkpoint's run, the benchmark, or the defaults. */
  from: "checkpoint" | "benchmark" | "default";
}

/** One completion of a problem. */
export interface SampleResult {
  completion: string;
  /** null: no answer could be extracted. */
  extracted: string | null;
  /** Only where there is an answer that does not stand in the form that was asked for. */
  formatted?: false;
  /** In [0, 1]. */
  score: number;
  truncated: boolean;
  completion_tokens: number;
  /** What a remote model thought aloud; never searched for the answer. */
  reasoning?: string;
  /** Why there is no completion; such a sample counts as unanswered, not as wrong. */
  error?: string;
  /** The prompt leaves the model no room for an answer: it was not asked. */
  too_long?: true;
}

/** A problem and the first completion of it; `samples` holds all of several. */
export interface ExampleResult extends SampleResult {
  index: number;
  question: string;
  /** null: the problem has many right answers. */
  expected: string | null;
  metadata: Record<string, unknown>;
  samples?: SampleResult[];
}

/** All samples of a problem. */
export function samplesOf(example: ExampleResult): readonly SampleResult[] {
  return example.samples ?? [example];
}

/** Of several samples a problem; keys are k = 1, 2, 4 … and the number of samples. */
export interface SampleStatistics {
  k: number;
  /** Problems of which all k samples are answered: these count here. */
  problems: number;
  /** Unbiased estimate of the chance that one of k samples is correct. */
  pass_at: Record<string, number>;
  /** Mean accuracy of a sample. */
  avg_at_k: number;
  /** Accuracy of the answer given most often. */
  majority_at_k: number;
}

/** A model on a task. */
export interface ModelResult {
  /** correct / total. */
  accuracy: number;
  correct: number;
  /** Answered completions (problems × samples, less those that failed or had too long a prompt). */
  total: number;
  /** Of `accuracy`; of several samples a problem with as many observations as there are problems. */
  ci95: Interval;
  /** With partial credit. */
  mean_score: number;
  mean_score_ci95: Interval;
  /** Share of completions that give an answer in the form that was asked for. */
  format_rate: number;
  truncated_rate: number;
  mean_completion_tokens: number;
  /** Problems. */
  num_examples: number;
  /** Completions that failed for good. */
  errors: number;
  /** Completions that were not asked for: the prompt is longer than the model's positions. */
  too_long: number;
  /** With those that failed, or were not asked for, counted as wrong. */
  accuracy_of_all: number;
  prompt: PromptRecord;
  /** Test problems that the checkpoint saw in training, by its own configuration; null = not known. */
  overlap: number | null;
  /** Several samples a problem; null with one. */
  samples: SampleStatistics | null;
  /** What it took; remote models also report what the server counted. */
  usage: { prompt_tokens: number; completion_tokens: number; seconds: number };
  /** Where it ran: "wasm, 2 threads", or the endpoint's address. */
  device: string;
  examples: ExampleResult[];
}

/** Two models on the same problems. */
export interface PairedComparison {
  task: string;
  first: string;
  second: string;
  /** Problems that both answered. */
  n: number;
  /** Accuracy of the second less that of the first, and its 95 % interval for matched pairs. */
  difference: number;
  ci95: Interval;
  /** Problems that only the first, and only the second, got right. */
  only_first: number;
  only_second: number;
  /** Two-sided; exact McNemar test, of several samples a problem a sign-flip test. */
  p_value: number;
}

export interface TaskResults {
  /** The task as charts and tables call it. */
  task: string;
  /** Registered name, or that of the data set. */
  task_name: string;
  category: string | null;
  parameters: Record<string, unknown>;
  /** Of the problems. */
  seed: number;
  /** Key: the model as it was named, until renamed. */
  models: Record<string, ModelResult>;
  comparisons: PairedComparison[];
}

/** What asking a server took. */
export interface RemoteUsage {
  /** The server's address, without secrets. */
  url: string;
  provider?: string;
  /** Requests that were sent, those that failed included. */
  requests: number;
  /** Answers that came from the cache. */
  cached: number;
  prompt_tokens: number;
  completion_tokens: number;
  /** null where prices are not known. */
  cost: number | null;
  /** Mean over the requests that were answered; null without any. */
  seconds_per_request: number | null;
  /** New tokens a second of all requests together, from the first to the last answer; null without any. */
  tokens_per_second: number | null;
  /** What was changed in all requests since the server refuses fields of them, in words. */
  adjusted: string[];
}

interface RunHeader {
  format: typeof RESULT_FORMAT;
  /** ISO 8601, UTC. */
  created: string;
  /** The same in all files of one benchmark: YYYYMMDD_HHMMSS, as in their names. */
  stamp: string;
  rgx_version: string;
  deno_version: string;
  /** Of the problems, where a task has no own. */
  seed: number;
  /** Of the draws. */
  sampling_seed: number;
  sampling: Sampling;
  /** What asking a server took, with remote models. */
  remote?: RemoteUsage;
}

/** `results_{task}_{stamp}.json` */
export interface TaskResultFile extends RunHeader, TaskResults {
  kind: "task";
}

/** A model over the tasks on which it answered anything; NaN (null in the file) without any. */
export interface ModelAverage {
  tasks: number;
  /** Mean of the tasks' accuracies, each task counting the same. */
  accuracy: number;
  ci95: Interval;
  mean_score: number;
  format_rate: number;
}

/** `results_all_tasks_{stamp}.json`; very long ones leave the examples to the files of the tasks. */
export interface AllTasksResultFile extends RunHeader {
  kind: "all_tasks";
  tasks: Record<string, TaskResults>;
  average: Record<string, ModelAverage>;
  /** Names of the task files beside it. */
  parts: string[];
  /** Combinations that crashed. */
  failures: { model: string; task: string; error: string }[];
}

/** A file of results: of one task, or of all tasks of a benchmark. */
export type ResultFile = TaskResultFile | AllTasksResultFile;

/** The JSON of examples, UTF-8, by their list: a benchmark writes each in two files. */
export type ExampleTexts = Map<readonly ExampleResult[], Uint8Array>;

/**
 * A result as JSON, indented, each example on a line.
 * @param texts of examples that were written before; those of this result are added
 */
export function resultFileBytes(
  result: ResultFile,
  texts: ExampleTexts = new Map(),
): Uint8Array<ArrayBuffer> {
  const encoder = new TextEncoder(), order: Uint8Array[] = [];
  const framed = (task: TaskResults) => {
    const models: Record<string, unknown> = {};
    for (const [name, model] of Object.entries(task.models)) {
      const { examples } = model;
      let text = texts.get(examples);
      if (text === undefined) {
        const lines = examples.map((one) => `\n${JSON.stringify(one)}`);
        texts.set(examples, text = encoder.encode(`[${lines.join()}\n]`));
      }
      order.push(text);
      models[name] = { ...model, examples: PLACE };
    }
    return { ...task, models };
  };
  const tasks = result.kind === "task" ? [] : Object.entries(result.tasks);
  const frame = result.kind === "task"
    ? framed(result)
    : { ...result, tasks: Object.fromEntries(tasks.map(([name, task]) => [name, framed(task)])) };
  const parts = `${JSON.stringify(frame, null, 1)}\n`.split(JSON.stringify(PLACE))
    .flatMap((part, i) => i === 0 ? [encoder.encode(part)] : [order[i - 1]!, encoder.encode(part)]);
  const bytes = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

/** Stands for a list of examples; no text that a user would write. */
const PLACE = "\0examples\0";

/**
 * The results of one task or of a whole benchmark, from their file.
 * @throws UsageError when there is no such file, RgxError when it is no result file of this version
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

/** @param place for messages */
export function checkResultFile(json: unknown, place: string): ResultFile {
  const file = object(json, place);
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
  for (const key of ["created", "stamp", "rgx_version"]) text(file, key, place);
  number(file, "seed", place);
  object(file["sampling"], `${place}: sampling`);
  if (file["kind"] === "task") checkTask(file, place);
  else if (file["kind"] === "all_tasks") {
    for (const [task, value] of Object.entries(object(file["tasks"], `${place}: tasks`))) {
      checkTask(object(value, `${place}: tasks.${task}`), `${place}: tasks.${task}`);
    }
    object(file["average"], `${place}: average`);
    array(file["parts"], `${place}: parts`);
    array(file["failures"], `${place}: failures`);
  } else {
    const found = JSON.stringify(file["kind"]);
    throw new RgxError(`${place}: kind: expected "task" or "all_tasks", found ${found}`);
  }
  return json as ResultFile;
}

function checkTask(value: Record<string, unknown>, place: string): void {
  text(value, "task", place);
  array(value["comparisons"], `${place}: comparisons`);
  for (const [name, model] of Object.entries(object(value["models"], `${place}: models`))) {
    const at = `${place}: models.${name}`, result = object(model, at);
    for (const key of NUMBERS) number(result, key, at);
    for (const key of SHARES) {
      const share = result[key] as number;
      if (!(share >= 0 && share <= 1)) throw wrong(`${at}: ${key}`, "a share from 0 to 1", share);
    }
    for (const key of ["ci95", "mean_score_ci95"]) {
      const interval = array(result[key], `${at}.${key}`), [low, high] = interval;
      const ordered = typeof low === "number" && typeof high === "number" && low <= high;
      if (interval.length !== 2 || !ordered) throw wrong(`${at}.${key}`, "[low, high]", interval);
      if (key === "ci95" && !(low >= 0 && high <= 1)) {
        throw wrong(`${at}.${key}`, "shares from 0 to 1", interval);
      }
    }
    object(result["prompt"], `${at}.prompt`);
    // Someone who made the file smaller has left them out, as a large benchmark does itself.
    result["examples"] ??= [];
    array(result["examples"], `${at}.examples`).forEach((example, i) => {
      const where = `${at}.examples[${i}]`, row = object(example, where);
      for (const key of ["question", "completion"]) text(row, key, where);
      number(row, "score", where);
    });
  }
}

const NUMBERS = [
  ...["accuracy", "correct", "total", "mean_score", "format_rate", "truncated_rate"],
  ...["mean_completion_tokens", "num_examples"],
];

const SHARES = ["accuracy", "format_rate", "truncated_rate"];

function object(value: unknown, place: string): Record<string, unknown> {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    return value as Record<string, unknown>;
  }
  throw wrong(place, "an object", value);
}

function array(value: unknown, place: string): unknown[] {
  if (Array.isArray(value)) return value;
  throw wrong(place, "a list", value);
}

function text(from: Record<string, unknown>, key: string, place: string): void {
  if (typeof from[key] !== "string") throw wrong(`${place}: ${key}`, "a text", from[key]);
}

function number(from: Record<string, unknown>, key: string, place: string): void {
  if (typeof from[key] !== "number") throw wrong(`${place}: ${key}`, "a number", from[key]);
}

function wrong(place: string, expected: string, value: unknown): RgxError {
  const found = value === undefined ? "nothing" : (JSON.stringify(value) ?? "").slice(0, 60);
  return new RgxError(`${place}: expected ${expected}, found ${found}`, {
    advice: "The file is damaged or no result file of rgx bench.",
  });
}
