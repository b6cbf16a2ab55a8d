/**
 * `rgx score`: with rewards, as other trainers have them (lines, or a server that they call);
 * without, it reads answers or completions and writes scores, line by line and in order. The input
 * is cut at line ends into pieces. Only a few of them are in memory at a time. A large input is
 * scored by all cores; when the input comes slowly, each line is answered at once.
 */
import { EXIT, messageOf, RgxError, UsageError } from "../../core/errors.ts";
import { hostInUrl, listenError } from "../../core/remote/http_front.ts";
import { callerMistake, isLoopback } from "../../core/remote/callers.ts";
import { whyNotJson } from "../../core/text_file.ts";
import { defaultThreads } from "../../kernels/devices/wasm/threads.ts";
import { createRubric, type Rubric } from "../../rewards/rubric.ts";
import type { RewardSample } from "../../rewards/types.ts";
import { registerTaskFile } from "../../tasks/custom/task_file.ts";
import { stopSignal } from "../signals.ts";
import { log, print, writeResult } from "../terminal/terminal.ts";
import { type ChosenRewards, chosenRewards } from "./reward_flags.ts";
import { mistakeOf, readSample, sampleScores } from "./samples.ts";
import { scoreLines } from "./score_lines.ts";
import type { PieceReply, PieceRequest } from "./score_worker.ts";
import type { Flags } from "../flags.ts";
import type { SCORE } from "./score_flags.ts";

type ScoreFlags = Flags<typeof SCORE>;

/** Number of bytes that are read together. */
const PIECE = 1 << 18;
/** Number of bytes that are scored before threads are started, which takes about as long. */
const ALONE = 1 << 20;
/** Number of pieces in memory per thread. */
const AHEAD = 3;

/** Returns the exit code: 1 when no line could be scored. */
export async function score(file: string, flags: ScoreFlags): Promise<number> {
  const chosen = await chosenRewards(flags);
  if (chosen === null && !flags.serve) return await scoreFile(file, flags);
  for (const name of ["completions", "threads", "task"] as const) {
    if (flags[name] === undefined || (name === "task" && flags.task.length === 0)) continue;
    throw new UsageError(`--${name} is for scores of answers, not for rewards`, {
      advice: "Rewards see whole completions anyway.",
    });
  }
  const { sections, rewardTimeout, maxCompletionLength } = chosen ?? await chosenRewards({
    reward: ["correctness"],
  }) as ChosenRewards;
  const rubric = createRubric(sections, {
    rewardTimeout,
    allowPython: flags.allowPython ?? false,
  });
  await rubric.open();
  try {
    if (flags.serve) return await serveRewards(file, rubric, maxCompletionLength, flags);
    await checkFile(file);
    using opened = file === "-" ? null : await Deno.open(file);
    const counts = await scoreRewardLines(
      pieces(opened ?? Deno.stdin),
      rubric,
      maxCompletionLength,
    );
    return scoreExit(counts, file, '{"prompt": …, "answer": …, "completion": …}');
  } finally {
    await rubric.close();
  }
}

async function serveRewards(
  file: string,
  rubric: Rubric,
  maxCompletionLength: number,
  { host: hostname, port }: ScoreFlags,
): Promise<number> {
  if (file !== "-") throw new UsageError("--serve takes no file: clients send what to score");
  const server = startScoreServer(rubric, {
    hostname,
    port,
    maxCompletionLength,
    onDefect: (error) => log(`internal error: ${error instanceof Error ? error.stack : error}`),
  });
  log(`rewards: ${rubric.names.map((name, i) => `${name} × ${rubric.weights[i]}`).join(", ")}`);
  if (!isLoopback(hostname)) log("warning: anyone who reaches this address can use it");
  const end = stopSignal(); // before the address is printed: whoever reads it may send a signal
  print(server.url);
  await end;
  await server.close();
  return EXIT.ok;
}

async function scoreFile(file: string, options: ScoreFlags): Promise<number> {
  await checkFile(file);
  using opened = file === "-" ? null : await Deno.open(file);
  const { completions = false, task: files } = options;
  for (const path of files) await registerTaskFile(path);
  const threads = files.length > 0 ? 1 : options.threads ?? defaultThreads();
  const total = { scored: 0, failed: 0 };
  let alone = 0, pool: ScorePool | null = null;
  const count = ({ scored, failed }: { scored: number; failed: number }) => {
    total.scored += scored;
    total.failed += failed;
  };
  /** Pieces that are not written yet, the oldest first. They are written in this order. */
  const pending: Promise<void>[] = [];
  try {
    for await (const lines of pieces(opened ?? Deno.stdin)) {
      if (threads === 1 || alone < ALONE) {
        alone += lines.length;
        const piece = scoreLines(new TextDecoder().decode(lines), completions);
        count(piece);
        writeResult(new TextEncoder().encode(piece.text));
        continue;
      }
      pool ??= new ScorePool(threads);
      const scored = pool.score({ lines, completions });
      const before = pending.at(-1) ?? Promise.resolve();
      const written = Promise.all([scored, before]).then(([reply]) => {
        count(reply);
        writeResult(reply.text);
      });
      written.catch(() => {}); // awaited below
      pending.push(written);
      if (pending.length >= AHEAD * threads) await pending.shift();
    }
    await pending.at(-1);
  } finally {
    pool?.close();
  }
  const line = completions ? '{"entry": …, "completion": …}' : '{"entry": …, "answer": …}';
  return scoreExit(total, file, line);
}

/** @throws UsageError for a path that is no file */
async function checkFile(file: string): Promise<void> {
  if (file === "-") return;
  const info = await Deno.stat(file).catch((cause) => {
    if (!(cause instanceof Deno.errors.NotFound)) throw cause;
    throw new UsageError(`${file}: no such file`, { cause });
  });
  if (info.isDirectory) throw new UsageError(`${file}: is a folder, expected a JSONL file`);
}

/** The input so far, cut at line ends. A line that is longer than a piece stays whole. */
async function* pieces(
  input: { read(buffer: Uint8Array): Promise<number | null> },
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  let unfinished: Uint8Array[] = [];
  for (;;) {
    const buffer = new Uint8Array(PIECE), length = await input.read(buffer);
    if (length === null) break;
    const read = buffer.subarray(0, length), end = read.lastIndexOf(0x0a) + 1;
    if (end === 0) {
      unfinished.push(read);
      continue;
    }
    yield join([...unfinished, read.subarray(0, end)]);
    unfinished = end < length ? [read.slice(end)] : [];
  }
  if (unfinished.length > 0) yield join(unfinished);
}

function join(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** @returns the numbers of lines that were scored, and that could not be */
async function scoreRewardLines(
  pieces: AsyncIterable<Uint8Array>,
  rubric: Rubric,
  maxLength: number,
): Promise<{ scored: number; failed: number }> {
  let number = 0, scored = 0, failed = 0;
  for await (const piece of pieces) {
    const samples: RewardSample[] = [], results: (string | null)[] = [];
    const lines = new TextDecoder().decode(piece).split("\n");
    if (lines.at(-1) === "") lines.pop();
    for (const line of lines) {
      number++;
      if (line.trim() === "") continue;
      try {
        samples.push(readSample(parse(line), `line ${number}`, rubric, maxLength));
        results.push(null);
      } catch (error) {
        failed++;
        const message = error instanceof SyntaxError
          ? `line ${number}: not JSON: ${whyNotJson(error)}`
          : mistakeOf(error);
        results.push(JSON.stringify({ reward: null, error: message }));
      }
    }
    const all = await rubric.score(samples), scores = sampleScores(rubric, all);
    const errors = new Map(
      all.errors.map(({ row, name, message }) => [row, `${name}: ${message}`]),
    );
    let next = 0;
    const text = results.map((result) => {
      if (result !== null) return result;
      const error = errors.get(next);
      return JSON.stringify({ ...scores[next++], ...(error !== undefined && { error }) });
    });
    scored += samples.length;
    if (text.length > 0) writeResult(new TextEncoder().encode(text.join("\n") + "\n"));
  }
  return { scored, failed };
}

const parse = (line: string): unknown => JSON.parse(line);

interface Counts {
  scored: number;
  failed: number;
}

/**
 * @param file what was read, "-" for stdin
 * @param line an example of a line, for the message when there was none
 * @returns the exit code: 1 when there were lines and none of them could be scored
 */
function scoreExit({ scored, failed }: Counts, file: string, line: string): number {
  if (scored > 0) return EXIT.ok;
  if (failed > 0) return EXIT.failure;
  log(
    `nothing was scored: ${file === "-" ? "stdin" : file} has no lines, expected ${line} in each`,
  );
  return EXIT.ok;
}

interface Job {
  request: PieceRequest;
  resolve: (reply: PieceReply) => void;
  reject: (error: Error) => void;
}

class ScorePool {
  readonly #workers: Worker[] = [];
  readonly #idle: Worker[] = [];
  readonly #waiting: Job[] = [];
  readonly #running = new Map<Worker, Job>();

  constructor(threads: number) {
    for (let i = 0; i < threads; i++) {
      const worker = new Worker(new URL("./score_worker.ts", import.meta.url), { type: "module" });
      worker.onmessage = ({ data }: MessageEvent<PieceReply>) => {
        this.#running.get(worker)!.resolve(data);
        this.#next(worker);
      };
      worker.onerror = (event) => {
        event.preventDefault();
        this.#fail(new RgxError(`a thread that scores has failed: ${event.message}`));
      };
      this.#workers.push(worker);
      this.#idle.push(worker);
    }
  }

  /** @throws RgxError when a thread dies */
  score(request: PieceRequest): Promise<PieceReply> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ request, resolve, reject });
      const worker = this.#idle.pop();
      if (worker !== undefined) this.#next(worker);
    });
  }

  close(): void {
    for (const worker of this.#workers) worker.terminate();
  }

  #next(worker: Worker): void {
    this.#running.delete(worker);
    const job = this.#waiting.shift();
    if (job === undefined) return void this.#idle.push(worker);
    this.#running.set(worker, job);
    worker.postMessage(job.request, [job.request.lines.buffer]);
  }

  #fail(error: Error): void {
    for (const job of [...this.#running.values(), ...this.#waiting]) job.reject(error);
  }
}

interface ScoreServerOptions {
  hostname: string;
  /** 0: any free port. */
  port: number;
  maxCompletionLength: number;
  /** Called for an error that no client has caused. */
  onDefect: (error: unknown) => void;
}

interface ScoreServer {
  url: string;
  close(): Promise<void>;
}

/** Largest body of a request, in bytes. */
const MAX_BODY = 2 ** 28;

/** @throws RgxError when the port is taken */
export function startScoreServer(rubric: Rubric, options: ScoreServerOptions): ScoreServer {
  const { hostname, port, onDefect } = options;
  // One batch after the other: a reward's process scores one at a time.
  let last: Promise<unknown> = Promise.resolve();
  const handler = async (request: Request): Promise<Response> => {
    const mistake = callerMistake(request.headers, { hostname, cors: null }, "");
    if (mistake !== null) return failure(403, mistake);
    const { pathname } = new URL(request.url);
    if (pathname === "/health") {
      return Response.json({ rewards: rubric.names, weights: rubric.weights });
    }
    if (pathname !== "/score") return failure(404, `${pathname}: there are /score and /health`);
    if (request.method !== "POST") return failure(405, "/score takes POST");
    const turn = last.then(() => scoreRequest(request, rubric, options.maxCompletionLength));
    last = turn.catch(() => {});
    return await turn;
  };
  try {
    const server = Deno.serve({
      hostname,
      port,
      handler,
      onListen() {},
      onError(error) {
        onDefect(error);
        return failure(500, "internal error");
      },
    });
    const url = `http://${hostInUrl(hostname)}:${server.addr.port}`;
    return { url, close: () => server.shutdown() };
  } catch (error) {
    throw listenError(hostname, port, error);
  }
}

async function scoreRequest(
  request: Request,
  rubric: Rubric,
  maxLength: number,
): Promise<Response> {
  const size = Number(request.headers.get("content-length") ?? 0);
  if (size > MAX_BODY) return failure(413, `the request has ${size} bytes, at most ${MAX_BODY}`);
  let body: unknown;
  try {
    body = await request.json();
  } catch (error) {
    return failure(400, `the body is not JSON: ${messageOf(error)}`);
  }
  const samples = (body as { samples?: unknown } | null)?.samples;
  if (!Array.isArray(samples)) return failure(400, "samples: expected a list of objects");
  let read;
  try {
    read = samples.map((sample, i) => readSample(sample, `samples[${i}]`, rubric, maxLength));
  } catch (error) {
    return failure(400, mistakeOf(error));
  }
  const all = await rubric.score(read), scores = sampleScores(rubric, all);
  return Response.json({
    rewards: scores.map(({ reward }) => reward),
    values: Object.fromEntries(
      rubric.names.map((name) => [name, scores.map(({ values }) => values[name])]),
    ),
    errors: all.errors.map(({ row: index, name: reward, message }) => ({ index, reward, message })),
  });
}

/** An error in OpenAI's form. */
function failure(status: number, message: string): Response {
  return Response.json({ error: { message } }, { status });
}
