/**
 * For tests of whole commands: starts `rgx` as a process, makes tiny training runs, and compares
 * runs.
 */
import assert from "node:assert/strict";
import { processIsAlive } from "../core/machine/process_alive.ts";
import { type CommandOutput, runCommand } from "../core/machine/run_command.ts";
import { namesIn } from "../core/testing.ts";
import { SAFE_V8_FLAGS, V8_FLAGS } from "../core/program_command.ts";
import { type Line, metricsOf, metricsWithoutClock } from "../training/metrics/testing.ts";
import { type HostAnswer, type HostRequest, receive, send } from "./command_host.ts";

export const root = new URL("..", import.meta.url);

export { type Line, metricsOf as readMetrics, namesIn };

export type Result = HostAnswer;

/**
 * The words of a command that starts `rgx`.
 * @param safe use the V8 flags of `deno task rgx:safe`
 */
export function rgxProgram(args: readonly string[], safe = false): string[] {
  const flags = safe ? SAFE_V8_FLAGS : V8_FLAGS, main = new URL("main.ts", root).pathname;
  return [Deno.execPath(), "run", "-A", "--no-check", flags, main, ...args];
}

/**
 * No colours, and no job: the tests themselves may run in one. One thread, since models of the
 * tests are so small that another one mostly waits.
 */
const ENVIRONMENT = { NO_COLOR: "1", COLUMNS: "80", SLURM_JOB_ID: "", RGX_NUM_THREADS: "1" };

/** Runs another program to its end, without colours, and asserts that it ends with 0. */
export async function runs(
  command: readonly string[],
  { env, ...options }: Parameters<typeof runCommand>[1] = {},
): Promise<CommandOutput> {
  const ended = await runCommand(command, { env: { ...ENVIRONMENT, ...env }, ...options });
  assert.ok(ended?.success, `${command.join(" ").slice(0, 300)}\n${ended?.err.slice(-3000)}`);
  return ended;
}

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
    shell?: string | undefined;
    /** In a process group of its own. */
    detached?: boolean;
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
    detached: options.detached ?? false,
    stdout: "piped",
    stderr: "piped",
  }).spawn();
}

/** These are read once in a process, or are for processes that a command starts. */
const OF_A_PROCESS = /^(?:RGX_NATIVE|RGX_VULKAN|VK_|CUDA_|LD_|PATH|HOME|XDG_|SLURM|PMI|OMPI)/;

/** What a command finds: the text of its standard input, more variables, and its folder. */
export interface Around {
  input?: string;
  env?: Record<string, string> | undefined;
  cwd?: string | undefined;
}

/** Runs `rgx` to its end, in the process that all commands of these tests share. */
export async function rgx(args: readonly string[], around: Around = {}): Promise<Result> {
  const { input = "", env = {}, cwd = root.pathname } = around;
  const isAlone = args.includes("--ranks") ||
    Object.keys(env).some((key) => OF_A_PROCESS.test(key));
  if (isAlone) return await rgxAlone(args, { input, env, cwd });
  const all = { ...Deno.env.toObject(), ...ENVIRONMENT, ...env };
  return await askHost({ args, input, env: all, cwd });
}

/** Runs `rgx`, and asserts that it ends with 0. */
export async function succeeds(args: readonly string[], around: Around = {}): Promise<Result> {
  const result = await rgx(args, around);
  assert.equal(result.code, 0, `rgx ${args.join(" ")}\n${result.err}`);
  return result;
}

/** A command line, and what its message has. */
export type Refusal = readonly [args: readonly string[], ...says: (string | RegExp)[]];

/**
 * Asserts that each command is refused: a message of a few lines that has all of `says`, no stack
 * trace, and nothing on stdout.
 * @param around `before` stands before the words of each command
 */
export async function refuses(
  refusals: readonly Refusal[],
  around: Around & { code?: number; before?: readonly string[] } = {},
): Promise<void> {
  const { code = 2, before = [], ...others } = around;
  for (const [args, ...says] of refusals) {
    const result = await rgx([...before, ...args], others);
    const shown = `rgx ${[...before, ...args].join(" ")}\n${result.err}`;
    assert.deepEqual([result.code, result.out], [code, ""], shown);
    assertClean(result);
    assert.ok(lines(result.err).length <= 8, `too long: ${shown}`);
    for (const expected of says) {
      const isSaid = typeof expected === "string"
        ? result.err.replaceAll(/\s+/g, " ").includes(expected)
        : expected.test(result.err);
      assert.ok(isSaid, `expected ${expected} in: ${shown}`);
    }
  }
}

/** Runs `rgx` to its end, in a process of its own. */
async function rgxAlone(
  args: readonly string[],
  { input, env, cwd }: { input: string; env: Record<string, string>; cwd: string },
): Promise<Result> {
  const child = spawnRgx(args, { env, stdin: "piped", cwd });
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

/** A server that `rgx` has started. */
export interface Served {
  /** The first line on its stdout: the address. */
  url: string;
  /** Ends it, if it has not ended by itself; returns its code and its messages. */
  end(signal?: Deno.Signal): Promise<{ code: number; err: string }>;
}

/** Starts a command that serves, and waits until it prints its address. */
export const serveRgx = (args: readonly string[]): Promise<Served> => served(spawnRgx(args));

/** Waits until a process that serves prints its address. */
export async function served(child: Deno.ChildProcess): Promise<Served> {
  const errors = new Response(child.stderr).text();
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const { value } = await reader.read();
  assert.ok(value !== undefined, value ?? await errors);
  return {
    url: value.trim(),
    async end(signal = "SIGTERM") {
      try {
        child.kill(signal);
      } catch {
        // It has ended already.
      }
      await reader.cancel();
      return { code: (await child.status).code, err: await errors };
    },
  };
}

/** A running `rgx`; its output is collected. */
export class Session {
  /** What it has written to stderr so far. */
  err = "";
  hasEnded = false;
  readonly end: Promise<Result & { signal: Deno.Signal | null }>;

  constructor(readonly child: Deno.ChildProcess) {
    const reading = (async () => {
      const texts = child.stderr.pipeThrough(new TextDecoderStream());
      for await (const text of texts) this.err += text;
    })();
    this.end = Promise.all([child.status, new Response(child.stdout).text(), reading])
      .then(([{ code, signal }, out]) => ({ code, signal, out, err: this.err }))
      .finally(() => this.hasEnded = true);
  }

  /** Sends a signal, and returns how it has ended. */
  async ends(signal: Deno.Signal): Promise<Result & { signal: Deno.Signal | null }> {
    this.child.kill(signal);
    return await this.end;
  }

  /**
   * Waits for a moment, and fails if the process ends before, or if it takes a minute.
   * @param pause milliseconds between two looks; 0 for what may last only a millisecond
   */
  async reaches(what: string, isNow: () => boolean | Promise<boolean>, pause = 3): Promise<void> {
    const deadline = performance.now() + 60_000;
    while (!await isNow()) {
      if (pause === 0) {
        for (const until = performance.now() + 5; performance.now() < until;) {
          if (await isNow()) return;
        }
      }
      const isLost = this.hasEnded || performance.now() > deadline;
      assert.ok(!isLost, `the moment never came: ${what}\n${this.err}`);
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }
}

/** Starts `rgx` as a process of its own, whose output is collected. */
export const startRgx = (...given: Parameters<typeof spawnRgx>): Session =>
  new Session(spawnRgx(...given));

export const lines = (text: string): string[] => text.trimEnd().split("\n");

/** The values of lines of JSON. */
// deno-lint-ignore no-explicit-any
export const jsonLines = (text: string): any[] => lines(text).map((line) => JSON.parse(line));

/** Copies the files of a folder into another one, which is created, so that they may be changed. */
export async function copyFiles(from: string, to: string): Promise<void> {
  await Deno.mkdir(to, { recursive: true });
  for (const { name, isFile } of Deno.readDirSync(from)) {
    if (isFile) await Deno.writeFile(`${to}/${name}`, await Deno.readFile(`${from}/${name}`));
  }
}

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
sft: { max_steps: 8, per_device_train_batch_size: 16, learning_rate: 6.0e-2, warmup_steps: 2 }
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

/** The lines of metrics.jsonl that must be equal in equal runs: no events, nothing of the clock. */
export async function comparableMetrics(run: string): Promise<string[]> {
  return (await metricsWithoutClock(run)).filter((line) => !("event" in line))
    .map((line) => JSON.stringify(line));
}

/** Number of lines of a split in the metrics of a run, which may not be there yet. */
export function stepsIn(run: string, split: string): number {
  try {
    return Deno.readTextFileSync(`${run}/metrics.jsonl`).split(`"split":"${split}"`).length - 1;
  } catch {
    return 0;
  }
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
  assert.ok((await metricsOf(run)).some(learns), "no step had a gradient");
  const [a, b] = await Promise.all([run, other].map((path) => Deno.readFile(`${path}/${weights}`)));
  assert.ok(a!.length > 1000 && a!.length === b!.length);
  assert.ok(a!.every((byte, i) => byte === b![i]), `${weights} differ`);
}

/** Asserts that the output has a message for the user in place of a stack trace. */
export function assertClean({ out, err }: Result): void {
  assert.doesNotMatch(out + err, /^\s+at |internal error|defect of rgx|Uncaught/m);
}
