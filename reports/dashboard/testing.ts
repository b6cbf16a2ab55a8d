/** For tests: folders of runs and of results as rgx writes them, and a dashboard of them. */
import assert from "node:assert/strict";
import { parquetWriteBuffer } from "hyparquet-writer";
import { pairedTest } from "../../bench/evaluation/matched_pairs.ts";
import { resultFileBytes } from "../../bench/results/result_file.ts";
import { exampleResult, modelResult, taskFile } from "../../bench/results/testing.ts";
import { withFolder } from "../../core/testing.ts";
import { type Dashboard, type DashboardOptions, startDashboard } from "./server.ts";

export const TOKEN = "a-token-for-tests";

/** A line of metrics.jsonl. */
export function metricsLine(step: number, reward = step / 100): string {
  return JSON.stringify({
    step,
    epoch: step / 100,
    time: new Date(Date.UTC(2026, 0, 1, 0, 0, step)).toISOString(),
    split: "train",
    loss: 1 / step,
    reward,
    "rewards/correctness/mean": reward,
    "completions/mean_length": 9,
    kl: 0.01,
    entropy: 0.5,
    "clip_ratio/region_mean": 0.1,
    "throughput/tokens_per_second": 2e4,
    "memory/peak_bytes": 1.3e8,
  }) + "\n";
}

/** Writes metrics of many steps, a thousand at a time. */
export async function writeLongMetrics(
  path: string,
  steps: number,
  line: (step: number) => string = metricsLine,
): Promise<void> {
  using file = await Deno.create(path);
  const writer = file.writable.getWriter(), encoder = new TextEncoder();
  for (let step = 1; step <= steps;) {
    let lines = "";
    for (let n = 0; n < 1000 && step <= steps; n++) lines += line(step++);
    await writer.write(encoder.encode(lines));
  }
  await writer.close();
}

/** Writes a run of this many steps; `change` replaces files (null: left out). */
export async function writeRun(
  folder: string,
  steps: number,
  change: Readonly<Record<string, string | null>> = {},
): Promise<void> {
  const share = { accuracy: 0.25, ci95: [0.2, 0.3], correct: 125, total: 500 };
  const evaluation = { step: 0, split: "eval", eval_accuracy: 0.25, eval_ci95: [0.2, 0.3] };
  const files: Record<string, string | null> = {
    "metrics.jsonl": JSON.stringify(evaluation) + "\n" +
      Array.from({ length: steps }, (_, i) => metricsLine(i + 1)).join(""),
    "config.yaml":
      `data: {task_name: spell_backward}\ntraining: {max_steps: 100, seed: ${steps}}\n` +
      "logging: {run_name: a name}\n",
    "run.json": JSON.stringify({
      format: 1,
      status: "completed",
      start: "2026-01-01T00:00:00.000Z",
      device: "wasm",
      job: { id: "123", name: "train", node: "n1", restarts: 2 },
      restarts_without_progress: 1,
      sessions: [
        { start: "2026-01-01T00:00:00.000Z", status: "killed", from: "the beginning", host: "n1" },
        { start: "2026-01-01T01:00:00.000Z", status: "completed", from: "GRPO step 5", host: "n1" },
      ],
      eval_before: share,
      eval_after: { ...share, accuracy: 0.5 },
    }),
    "run.log": JSON.stringify({ event: "advice", step: 3, text: "Look here.", tries: ["a=1"] }) +
      "\n",
    ...change,
  };
  await Deno.mkdir(folder, { recursive: true });
  for (const [name, text] of Object.entries(files)) {
    if (text !== null) await Deno.writeTextFile(`${folder}/${name}`, text);
  }
}

/** Writes the completions of a step: two prompts with two completions each. */
export async function writeCompletions(folder: string, step: number): Promise<void> {
  await Deno.mkdir(`${folder}/completions`, { recursive: true });
  const texts = ["<answer>cba</answer>", "no idea", "<answer>fed</answer>", "<b>bold</b>"];
  const table = parquetWriteBuffer({
    columnData: [
      { name: "step", data: texts.map(() => step), type: "INT32" },
      { name: "prompt", data: ["abc", "abc", "def", "def"], type: "STRING" },
      { name: "completion", data: texts, type: "STRING" },
      { name: "correctness", data: [1, 0, 1, null], type: "DOUBLE" },
      { name: "advantage", data: [1, -1, 1, 0], type: "DOUBLE" },
      { name: "completion_ids", data: texts.map(() => [313, 598, 303]), type: "JSON" },
      { name: "words", data: [1, 2, 1, 1], type: "DOUBLE" },
    ],
  });
  const name = `completions_${String(step).padStart(5, "0")}.parquet`;
  await Deno.writeFile(`${folder}/completions/${name}`, new Uint8Array(table));
}

/** Writes a result file of two models on one task. */
export async function writeResults(folder: string): Promise<void> {
  const model = (correct: number) => ({
    ...modelResult(correct, 4),
    examples: [0, 1, 2, 3].map((i) => exampleResult(i, i < correct)),
  });
  const task = "spell_backward", names = { first: "first", second: "second" };
  const comparison = { task, ...names, ...pairedTest([1, 0, 0, 0], [1, 1, 1, 0]) };
  const models = { first: model(1), second: model(3) };
  const file = { ...taskFile(task, {}), models, comparisons: [comparison] };
  await Deno.mkdir(folder, { recursive: true });
  await Deno.writeFile(`${folder}/results_${task}_${file.stamp}.json`, resultFileBytes(file));
}

/** Runs a test with a dashboard of a folder, which `write` fills before. */
export async function withDashboard(
  write: (folder: string) => Promise<void>,
  test: (dashboard: Dashboard, folder: string) => Promise<void>,
  options: Partial<DashboardOptions> = {},
): Promise<void> {
  await withFolder(async (folder) => {
    await write(folder);
    const dashboard = await startDashboard({
      folders: [folder],
      token: TOKEN,
      interval: 20,
      ...options,
    });
    try {
      await test(dashboard, folder);
    } finally {
      await dashboard.close();
    }
  });
}

/** Asks the dashboard; with a body, to do something. */
export async function send<T>(
  url: string,
  path: string,
  body?: unknown,
  headers: HeadersInit = { authorization: `Bearer ${TOKEN}` },
): Promise<[status: number, answer: T]> {
  const response = await fetch(new URL(`/api/${path}`, url), {
    headers,
    ...(body !== undefined && { method: "POST", body: JSON.stringify(body) }),
  });
  return [response.status, await response.json().catch(() => null)];
}

/** Asks the dashboard for JSON. */
export async function ask<T>(url: string, path: string): Promise<T> {
  const [status, answer] = await send<T>(url, path);
  assert.equal(status, 200, path);
  return answer;
}
