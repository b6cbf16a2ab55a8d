/** Results for the tests of the charts. */
import { wilson } from "../../core/intervals.ts";
import type {
  AllTasksResultFile,
  ModelResult,
  TaskResultFile,
  TaskResults,
} from "../../bench/results/result_file.ts";
import type { ChartData } from "./chart_data.ts";
import { gatherResults } from "./chart_data.ts";

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
    prompt: {
      system_prompt: null,
      add_instructions: true,
      format: "plain",
      few_shot: 0,
      few_shot_as: "prompt",
      from: "default",
    },
    overlap: null,
    samples: null,
    usage: { prompt_tokens: 1, completion_tokens: 12 * total, seconds: 1 },
    device: "reference",
    examples: [],
  };
}

export const header = {
  format: 1,
  created: "2026-01-02T03:04:05.000Z",
  stamp: "20260102_030405",
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

export function taskFile(
  task: string,
  counts: Counts,
  stamp: string = header.stamp,
): TaskResultFile {
  const day = `${stamp.slice(0, 4)}-${stamp.slice(4, 6)}-${stamp.slice(6, 8)}`;
  const created = `${day}T00:00:00.000Z`;
  return { ...header, stamp, created, kind: "task", ...taskResults(task, counts) };
}

export function allTasksFile(tasks: Record<string, Counts>): AllTasksResultFile {
  const all = Object.entries(tasks).map(([task, counts]) => [task, taskResults(task, counts)]);
  const rest = { average: {}, parts: [], failures: [] };
  return {
    ...header,
    created: "2026-01-02T00:00:00.000Z",
    kind: "all_tasks",
    tasks: Object.fromEntries(all),
    ...rest,
  };
}

export function chartData(tasks: Record<string, Counts>): ChartData {
  return gatherResults([{ path: "all.json", result: allTasksFile(tasks) }]);
}
