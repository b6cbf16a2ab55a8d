/**
 * For tests of whole commands: starts `rgx` as a process, makes tiny training runs, and compares
 * runs.
 */
import assert from "node:assert/strict";
import { processIsAlive } from "../core/machine/process_alive.ts";
import { SAFE_V8_FLAGS, V8_FLAGS } from "../core/program_command.ts";
import { type HostAnswer, type HostRequest, receive, send } from "./command_host.ts";

export const root = new URL("..", import.meta.url);

export type Result = HostAnswer;

/**
 * The words of a command that starts `rgx`.
 * @param safe use the V8 flags of `deno task rgx:safe`
 */
export function rgxProgram(args: readonly string[], safe = false): string[] {
  const flags = safe ? SAFE_V8_FLAGS : V8_FLAGS, main = new URL("main.ts", root).pathname;
  return [Deno.execPath(), "run", "-A", "--no-check", flags, main, ...args];
}

/** No colours, and no job: the tests themselves may run in one. */
const ENVIRONMENT = { NO_COLOR: "1", COLUMNS: "80", SLURM_JOB_ID: "" };

/** Starts `rgx` as a process without a terminal and without colours. */
export function spawnRgx(
  args: readonly string[],
  options: {
    env?: Record<string, string>;
    cwd?: string;
    stdin?: "piped" | "null";
    /** Use the V8 flags of `deno task rgx:safe`. */
    safe?: boolean;
    /** A command of a shell before it, such as one that sets limits. */
    shell?: string;
  } = {},
): Deno.ChildProcess {
  const { shell } = options;
  const before = shell === undefined ? [] : ["sh", "-c", `${shell}; exec "$@"`, "sh"];
  const [program, ...given] = [...before, ...rgxProgram(args, options.safe)];
  return new Deno.Command(program!, {
    args: given,
    cwd: options.cwd ?? root,
    env: { ...ENVIRONMENT, ...options.env },
    stdin: options.stdin ?? "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
}

/** These are read once in a process, or are for processes that a command starts. */
const OF_A_PROCESS = /^(?:RGX_NATIVE|RGX_VULKAN|VK_|CUDA_|LD_|PATH|HOME|XDG_|SLURM|PMI|OMPI)/;

/**
 * Runs `rgx` to its end, in the process that all commands of these tests share (`command_host.ts`).
 * @param input the text of its standard input
 */
export async function rgx(
  args: readonly string[],
  input = "",
  env: Record<string, string> = {},
  cwd = root.pathname,
): Promise<Result> {
  const isAlone = args.includes("--ranks") ||
    Object.keys(env).some((key) => OF_A_PROCESS.test(key));
  if (isAlone) return await rgxAlone(args, input, env, cwd);
  const all = { ...Deno.env.toObject(), ...ENVIRONMENT, ...env };
  return await askHost({ args, input, env: all, cwd });
}

/** Runs `rgx` to its end, in a process of its own. @param input the text of its standard input */
async function rgxAlone(
  args: readonly string[],
  input = "",
  env: Record<string, string> = {},
  cwd?: string,
): Promise<Result> {
  const child = spawnRgx(args, { env, stdin: "piped", ...(cwd === undefined ? {} : { cwd }) });
  const writer = child.stdin.getWriter();
  // A process that refuses its arguments ends before it has read its input.
  const written = writer.write(new TextEncoder().encode(input)).then(() => writer.close())
    .catch(() => {});
  const { code, stdout, stderr } = await child.output();
  await written;
  const decoder = new TextDecoder();
  return { code, out: decoder.decode(stdout), err: decoder.decode(stderr) };
}

/** Where the host of a test process listens; all files that the process tests share it. */
export const HOST = `/tmp/rgx-tests-${Deno.pid}`;
const SOCKET = Deno.env.get("RGX_TEST_HOST") ?? HOST;

export async function askHost(request: HostRequest): Promise<HostAnswer> {
  using connection = await connectToHost();
  await send(connection, request);
  return await receive<HostAnswer>(connection).catch(async (cause) => {
    throw new Error(`the host ended: ${await Deno.readTextFile(`${SOCKET}.err`)}`, { cause });
  });
}

async function connectToHost(): Promise<Deno.UnixConn> {
  const connect = () => Deno.connect({ transport: "unix", path: SOCKET }).catch(() => null);
  let connection = await connect();
  if (connection !== null) return connection;
  const host = new URL("command_host.ts", import.meta.url).pathname;
  const [program, ...flags] = rgxProgram([]).slice(0, -1);
  // A shell starts it in the background, since it lives longer than this test.
  const command = `"$0" "$@" </dev/null >/dev/null 2>>${SOCKET}.err & echo $!`;
  await Deno.remove(SOCKET).catch(() => {});
  const { stdout } = await new Deno.Command("sh", {
    args: ["-c", command, program!, ...flags, host, SOCKET, SOCKET.replace(/^.*-/, "")],
  }).output();
  const pid = Number(new TextDecoder().decode(stdout));
  while (connection === null) {
    await new Promise((resolve) => setTimeout(resolve, 10));
    if (!processIsAlive(pid)) throw new Error(await Deno.readTextFile(`${SOCKET}.err`));
    connection = await connect();
  }
  return connection;
}

/** Waits until `isNow`, and fails if the process ends before. */
export async function waitFor(
  child: Deno.ChildProcess,
  isNow: () => boolean | Promise<boolean>,
): Promise<void> {
  let hasEnded = false;
  child.status.then(() => hasEnded = true);
  while (!await isNow()) {
    assert.ok(!hasEnded, "the process ended too early");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

export const lines = (text: string): string[] => text.trimEnd().split("\n");

/**
 * The configuration of a tiny run, whose steps take a few milliseconds. The model has one small
 * layer. After the supervised steps only some completions have an answer, so that there is a
 * gradient.
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

/** Metrics that depend on the clock or on the machine. */
const CLOCK =
  /^(time|step_time|train_runtime|eval_runtime|time\/.*|memory\/.*|throughput\/.*|.*_per_second)$/;

/** A line of metrics.jsonl. */
export type Line = Record<string, unknown>;

/** All lines of metrics.jsonl. */
export async function readMetrics(run: string): Promise<Line[]> {
  return lines(await Deno.readTextFile(`${run}/metrics.jsonl`)).map((line) => JSON.parse(line));
}

/**
 * The lines of metrics.jsonl that must be equal in equal runs: no events, and no metrics of CLOCK.
 */
export async function comparableMetrics(run: string): Promise<string[]> {
  return (await readMetrics(run)).filter((line) => !("event" in line)).map((line) =>
    JSON.stringify(Object.fromEntries(Object.entries(line).filter(([name]) => !CLOCK.test(name))))
  );
}

/** Asserts that two runs have the same metrics and the same bytes of weights. */
export async function assertSameRun(
  run: string,
  other: string,
  weights = "model.safetensors",
): Promise<void> {
  assert.deepEqual(await comparableMetrics(run), await comparableMetrics(other));
  // Without a gradient, equal weights would prove nothing.
  const learns = (line: Line) => line["split"] === "train" && (line["grad_norm"] as number) > 0;
  assert.ok((await readMetrics(run)).some(learns), "no step had a gradient");
  const [a, b] = await Promise.all([run, other].map((path) => Deno.readFile(`${path}/${weights}`)));
  assert.ok(a!.length > 1000 && a!.length === b!.length);
  assert.ok(a!.every((byte, i) => byte === b![i]), `${weights} differ`);
}

/** Asserts that the output has a message for the user in place of a stack trace. */
export function assertClean({ out, err }: Result): void {
  assert.doesNotMatch(out + err, /^\s+at |internal error|defect of rgx|Uncaught/m);
}
