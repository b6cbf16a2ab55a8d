/**
 * The format of a benchmark's result files, `results_{task}_{stamp}.json` and
 * `results_all_tasks_{stamp}.json`. They hold everything that is needed to repeat the measurement.
 * Files of another format version are refused. Intervals are 95 % intervals: Wilson's for
 * accuracies, bootstrap intervals for mean scores (bench/evaluation/intervals.ts).
 */
import type { RemoteUsage } from "../../core/remote/server.ts";
import { RgxError, UsageError } from "../../core/errors.ts";
import { readText, whyNotJson, whyUnreadable } from "../../core/text_file.ts";
import type { DialogueRecord } from "../dialogue/dialogue.ts";
import type { PromptSettings } from "../evaluation/prompt_settings.ts";
import type { SamplingSettings } from "../evaluation/sampling.ts";

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

/** A model on a task. */
export interface ModelResult {
  /** correct / total. */
  accuracy: number;
  /** Completions that are correct. */
  correct: number;
  /** Answered completions: problems × samples, without failed ones and too long prompts. */
  total: number;
  /** Interval of `accuracy`, with as many observations as there are problems. */
  ci95: Interval;
  /** Mean score, with partial credit. */
  mean_score: number;
  /** Interval of `mean_score`. */
  mean_score_ci95: Interval;
  /** Share of completions that give an answer in the form that was asked for. */
  format_rate: number;
  /** Share of completions that were cut off. */
  truncated_rate: number;
  /** Mean number of tokens of a completion. */
  mean_completion_tokens: number;
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

/** Two models on the same problems. */
export interface PairedComparison {
  /** The name of the task in charts and tables. */
  task: string;
  /** Name of the first model. */
  first: string;
  /** Name of the second model. */
  second: string;
  /** Problems that both models answered. */
  n: number;
  /**
   * Accuracy of the second model minus accuracy of the first; `ci95` is the interval of the
   * difference.
   */
  difference: number;
  /** Interval of `difference`. */
  ci95: Interval;
  /** Problems that only the first model, and only the second one, answered correctly. */
  only_first: number;
  /** Problems that only the second model answered correctly. */
  only_second: number;
  /** Two-sided: the exact McNemar test, or with several samples a problem a sign-flip test. */
  p_value: number;
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

/** The JSON of lists of examples, in UTF-8; kept since each list is written to two files. */
export type ExampleTexts = Map<readonly ExampleResult[], Uint8Array>;

/**
 * A result as indented JSON, with each example on one line.
 * @param texts the JSON of examples that was made before; that of this result is added
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
  const file = requireObject(json, place);
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
  for (const key of ["created", "stamp", "rgx_version"]) requireText(file, key, place);
  requireNumber(file, "seed", place);
  requireObject(file["sampling"], `${place}: sampling`);
  if (file["kind"] === "task") checkTask(file, place);
  else if (file["kind"] === "all_tasks") {
    for (const [task, value] of Object.entries(requireObject(file["tasks"], `${place}: tasks`))) {
      checkTask(requireObject(value, `${place}: tasks.${task}`), `${place}: tasks.${task}`);
    }
    requireObject(file["average"], `${place}: average`);
    requireList(file["parts"], `${place}: parts`);
    requireList(file["failures"], `${place}: failures`);
  } else {
    const found = JSON.stringify(file["kind"]);
    throw new RgxError(`${place}: kind: expected "task" or "all_tasks", found ${found}`);
  }
  return json as ResultFile;
}

function checkTask(value: Record<string, unknown>, place: string): void {
  requireText(value, "task", place);
  requireList(value["comparisons"], `${place}: comparisons`);
  for (const [name, model] of Object.entries(requireObject(value["models"], `${place}: models`))) {
    const at = `${place}: models.${name}`, result = requireObject(model, at);
    for (const key of NUMBERS) requireNumber(result, key, at);
    for (const key of SHARES) {
      const share = result[key] as number;
      if (!(share >= 0 && share <= 1)) throw wrong(`${at}: ${key}`, "a share from 0 to 1", share);
    }
    for (const key of ["ci95", "mean_score_ci95"]) {
      const interval = requireList(result[key], `${at}.${key}`), [low, high] = interval;
      const ordered = typeof low === "number" && typeof high === "number" && low <= high;
      if (interval.length !== 2 || !ordered) throw wrong(`${at}.${key}`, "[low, high]", interval);
      if (key === "ci95" && !(low >= 0 && high <= 1)) {
        throw wrong(`${at}.${key}`, "shares from 0 to 1", interval);
      }
    }
    requireObject(result["prompt"], `${at}.prompt`);
    // A file may be without examples, to keep it small.
    result["examples"] ??= [];
    requireList(result["examples"], `${at}.examples`).forEach((example, i) => {
      const where = `${at}.examples[${i}]`, row = requireObject(example, where);
      for (const key of ["question", "completion"]) requireText(row, key, where);
      requireNumber(row, "score", where);
    });
  }
}

const NUMBERS = [
  "accuracy",
  "correct",
  "total",
  "mean_score",
  "format_rate",
  "truncated_rate",
  "mean_completion_tokens",
  "num_examples",
];

const SHARES = ["accuracy", "format_rate", "truncated_rate"];

function requireObject(value: unknown, place: string): Record<string, unknown> {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    return value as Record<string, unknown>;
  }
  throw wrong(place, "an object", value);
}

function requireList(value: unknown, place: string): unknown[] {
  if (Array.isArray(value)) return value;
  throw wrong(place, "a list", value);
}

function requireText(from: Record<string, unknown>, key: string, place: string): void {
  if (typeof from[key] !== "string") throw wrong(`${place}: ${key}`, "a text", from[key]);
}

function requireNumber(from: Record<string, unknown>, key: string, place: string): void {
  if (typeof from[key] !== "number") throw wrong(`${place}: ${key}`, "a number", from[key]);
}

function wrong(place: string, expected: string, value: unknown): RgxError {
  const found = value === undefined ? "nothing" : (JSON.stringify(value) ?? "").slice(0, 60);
  return new RgxError(`${place}: expected ${expected}, found ${found}`, {
    advice: "The file is damaged or no result file of rgx bench.",
  });
}
