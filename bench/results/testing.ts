/** For tests: result files as a benchmark writes them. */
import { wilson } from "../../core/intervals.ts";
import { DEFAULT_PROMPT_SETTINGS } from "../evaluation/prompt_settings.ts";
import type {
  AllTasksResultFile,
  ExampleResult,
  ModelResult,
  TaskResultFile,
  TaskResults,
} from "./result_file.ts";

export function modelResult(correct: number, total: number): ModelResult {
  const accuracy = correct / total, ci95 = wilson(correct, total);
  return {
    accuracy,
    correct,
    total,
    ci95,
    mean_score: accuracy,
    mean_score_ci95: ci95,
    format_rate: 1,
    truncated_rate: 0,
    mean_completion_tokens: 12,
    num_examples: total,
    errors: 0,
    too_long: 0,
    accuracy_of_all: accuracy,
    prompt: { ...DEFAULT_PROMPT_SETTINGS, from: "default" },
    overlap: null,
    samples: null,
    usage: { prompt_tokens: 1, completion_tokens: 12 * total, seconds: 1 },
    device: "reference",
    examples: [],
  };
}

/** A problem with the answer "cba", and what a model has answered. */
export function exampleResult(index: number, isRight: boolean): ExampleResult {
  const extracted = isRight ? "cba" : "x";
  return {
    index,
    question: `question ${index}`,
    expected: "cba",
    completion: `<answer>${extracted}</answer>`,
    extracted,
    score: isRight ? 1 : 0,
    truncated: false,
    completion_tokens: 5,
    metadata: {},
  };
}

const STAMP = "20260102_030405";
const HEADER = {
  format: 1,
  created: "2026-01-02T00:00:00.000Z",
  stamp: STAMP,
  rgx_version: "0.1.0",
  deno_version: "2.6.10",
  seed: 1,
  sampling_seed: 1,
  sampling: {
    temperature: 0,
    top_p: 1,
    top_k: 0,
    min_p: 0,
    repetition_penalty: 1,
    max_new_tokens: 8,
    samples: 1,
  },
} as const;

/** Number of correct answers of 50, by model. */
type Counts = Record<string, number>;

function taskResults(task: string, counts: Counts): TaskResults {
  const models = Object.entries(counts).map(([name, n]) => [name, modelResult(n, 50)]);
  return {
    task,
    task_name: task,
    category: null,
    parameters: {},
    seed: 1,
    models: Object.fromEntries(models),
    comparisons: [],
  };
}

export function taskFile(task: string, counts: Counts, stamp: string = STAMP): TaskResultFile {
  const created = stamp.replace(/^(....)(..)(..).*/, "$1-$2-$3T00:00:00.000Z");
  return { ...HEADER, stamp, created, kind: "task", ...taskResults(task, counts) };
}

export function allTasksFile(tasks: Record<string, Counts>): AllTasksResultFile {
  const all = Object.entries(tasks).map(([task, counts]) => [task, taskResults(task, counts)]);
  const rest = { average: {}, parts: [], failures: [] };
  return { ...HEADER, kind: "all_tasks", tasks: Object.fromEntries(all), ...rest };
}
