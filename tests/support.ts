/** What the tests of whole commands share: real processes, tiny runs, and what two runs must have in common. */
import assert from "node:assert/strict";
import { SAFE_V8_FLAGS, V8_FLAGS } from "../tools/v8_flags.ts";

export { withTempDir as withFolder } from "../training/testing.ts";

export const root = new URL("..", import.meta.url);

export interface Result {
  code: number;
  out: string;
  err: string;
}

/** Starts `rgx` with nobody at the keyboard, its streams piped and no colour. */
export function spawnRgx(
  args: readonly string[],
  options: {
    env?: Record<string, string>;
    cwd?: string;
    stdin?: "piped" | "null";
    /** As `deno task rgx:safe`. */
    safe?: boolean;
  } = {},
): Deno.ChildProcess {
  return new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "-A",
      "--no-check",
      options.safe ? SAFE_V8_FLAGS : V8_FLAGS,
      new URL("main.ts", root).pathname,
      ...args,
    ],
    cwd: options.cwd ?? root,
    // The tests themselves may run in a job.
    env: { NO_COLOR: "1", COLUMNS: "80", SLURM_JOB_ID: "", ...options.env },
    stdin: options.stdin ?? "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
}

/** Runs `rgx` to its end. */
export async function rgx(
  args: readonly string[],
  input = "",
  env: Record<string, string> = {},
  cwd?: string,
): Promise<Result> {
  const child = spawnRgx(args, { env, stdin: "piped", ...(cwd === undefined ? {} : { cwd }) });
  const writer = child.stdin.getWriter();
  // A process that refuses its arguments does not wait for what it is told.
  const told = writer.write(new TextEncoder().encode(input)).then(() => writer.close())
    .catch(() => {});
  const { code, stdout, stderr } = await child.output();
  await told;
  const decoder = new TextDecoder();
  return { code, out: decoder.decode(stdout), err: decoder.decode(stderr) };
}

export const lines = (text: string): string[] => text.trimEnd().split("\n");

/**
 * A run of a few milliseconds a step, as the text of a configuration: a model of one small layer, a warm
 * start after which some completions have an answer and some have none (so that there is a gradient).
 */
export const TINY = `_base_: quickstart
model:
  init:
    { hidden_size: 16, intermediate_size: 32, num_hidden_layers: 1, num_attention_heads: 2,
      num_key_value_heads: 1, initializer_range: 0.2 }
data: { num_examples: 64 }
rewards: [{ name: correctness }, { name: format_answer, weight: 0.5 }]
sft: { max_steps: 30, per_device_train_batch_size: 16, learning_rate: 3.0e-2, warmup_steps: 2 }
eval: { num_examples: 8 }
training:
  per_device_train_batch_size: 16
  num_generations: 4
  max_completion_length: 12
  max_steps: 4
  logging_steps: 1
  save_steps: 2
`;

/** Writes TINY to `{folder}/tiny.yaml` and returns the path. */
export async function tinyConfig(folder: string, extra = ""): Promise<string> {
  const path = `${folder}/tiny.yaml`;
  await Deno.writeTextFile(path, TINY + extra);
  return path;
}

/** The names of cli.md for what depends on the clock or the machine. */
const CLOCK =
  /^(time|step_time|train_runtime|eval_runtime|time\/.*|memory\/.*|throughput\/.*|.*_per_second)$/;

export type Line = Record<string, unknown>;

/** metrics.jsonl, parsed. */
export async function readMetrics(run: string): Promise<Line[]> {
  return lines(await Deno.readTextFile(`${run}/metrics.jsonl`)).map((line) => JSON.parse(line));
}

/** metrics.jsonl as text that two equal runs share: without the clock's names and without events. */
export async function comparableMetrics(run: string): Promise<string[]> {
  return (await readMetrics(run)).filter((line) => !("event" in line)).map((line) =>
    JSON.stringify(Object.fromEntries(Object.entries(line).filter(([name]) => !CLOCK.test(name))))
  );
}

/** Both runs have the same metrics and the same bytes of weights. */
export async function assertSameRun(
  run: string,
  other: string,
  weights = "model.safetensors",
): Promise<void> {
  assert.deepEqual(await comparableMetrics(run), await comparableMetrics(other));
  // Without a gradient equality would prove nothing.
  const learns = (line: Line) => line["split"] === "train" && (line["grad_norm"] as number) > 0;
  assert.ok((await readMetrics(run)).some(learns), "no step had a gradient");
  const [a, b] = await Promise.all([run, other].map((path) => Deno.readFile(`${path}/${weights}`)));
  assert.ok(a!.length > 1000 && a!.length === b!.length);
  assert.ok(a!.every((byte, i) => byte === b![i]), `${weights} differ`);
}

/** An error is a message, not a stack, and fits what a person can read. */
export function assertClean({ out, err }: Result): void {
  assert.doesNotMatch(out + err, /^\s+at |internal error|defect of rgx|Uncaught/m);
}
