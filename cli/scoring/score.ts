/**
 * `rgx score`: with rewards, as other trainers have them (lines, or a server that they call);
 * without, it reads answers or completions and writes scores, line by line and in order. The input
 * is cut at line ends into pieces. Only a few of them are in memory at a time. A large input is
 * scored by all cores; when the input comes slowly, each line is answered at once.
 */
import { EXIT, messageOf, RgxError, UsageError } from "../../core/errors.ts";
import { isRecord } from "../../core/json_file.ts";
import { callerMistake, isLoopback } from "../../core/remote/callers.ts";
import { whyNotJson } from "../../core/text_file.ts";
import { entriesOf } from "../../data/row_entries.ts";
import { FILE_SOURCE } from "../../data/score_completion.ts";
import { defaultThreads } from "../../kernels/devices/wasm/threads.ts";
import { createRubric, type Rubric } from "../../rewards/rubric.ts";
import type { RewardSample, RewardValue } from "../../rewards/types.ts";
import { registerTaskFile } from "../../tasks/custom/task_file.ts";
import type { Flags } from "../flags.ts";
import { listenOn, stopSignal } from "../signals.ts";
import { log, print, writeResult } from "../terminal/terminal.ts";
import { chosenRewards } from "./reward_flags.ts";
import type { SCORE } from "./score_flags.ts";
import { scoreLines } from "./score_lines.ts";
import type { PieceReply, PieceRequest } from "./score_worker.ts";

type ScoreFlags = Flags<typeof SCORE>;

/** Bytes that are read together. */
const PIECE = 1 << 18;
/** Bytes that are scored before threads are started, which takes about as long. */
const ALONE = 1 << 20;
/** Pieces in memory per thread. */
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
  const { sections, rewardTimeout, maxCompletionLength } = chosen ??
    (await chosenRewards({ reward: ["correctness"] }))!;
  const rubric = createRubric(sections, { rewardTimeout, allowPython: flags.allowPython ?? false });
  await rubric.open();
  try {
    if (flags.serve) return await serveRewards(file, rubric, maxCompletionLength, flags);
    const counts = await scoreRewardLines(file, rubric, maxCompletionLength);
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
  using opened = await openInput(file); // before the files of tasks are read
  const { completions = false, task: files } = options;
  for (const path of files) await registerTaskFile(path);
  const threads = files.length > 0 ? 1 : options.threads ?? defaultThreads();
  const total = { scored: 0, failed: 0 };
  let alone = 0, pool: ScorePool | null = null;
  const count = ({ scored, failed }: Counts) => {
    total.scored += scored;
    total.failed += failed;
  };
  /** Pieces that are not written yet, the oldest first. They are written in this order. */
  const pending: Promise<void>[] = [];
  try {
    for await (const lines of pieces(opened)) {
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

/** Opens a file; null = "-", stdin. @throws UsageError for a path that is no file */
async function openInput(file: string): Promise<Deno.FsFile | null> {
  if (file === "-") return null;
  const info = await Deno.stat(file).catch((cause) => {
    if (!(cause instanceof Deno.errors.NotFound)) throw cause;
    throw new UsageError(`${file}: no such file`, { cause });
  });
  if (info.isDirectory) throw new UsageError(`${file}: is a folder, expected a JSONL file`);
  return await Deno.open(file);
}

/** The input so far, cut at line ends. A line that is longer than a piece stays whole. */
async function* pieces(opened: Deno.FsFile | null): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const input = opened ?? Deno.stdin;
  let unfinished: Uint8Array<ArrayBuffer>[] = [];
  for (;;) {
    const buffer = new Uint8Array(PIECE), length = await input.read(buffer);
    if (length === null) break;
    const read = buffer.subarray(0, length), end = read.lastIndexOf(0x0a) + 1;
    if (end === 0) {
      unfinished.push(read);
      continue;
    }
    yield await new Blob([...unfinished, read.subarray(0, end)]).bytes();
    unfinished = end < length ? [read.slice(end)] : [];
  }
  if (unfinished.length > 0) yield await new Blob(unfinished).bytes();
}

/** Lines that were scored, and that could not be. */
interface Counts {
  scored: number;
  failed: number;
}

async function scoreRewardLines(file: string, rubric: Rubric, maxLength: number): Promise<Counts> {
  using opened = await openInput(file);
  let number = 0, scored = 0, failed = 0;
  for await (const piece of pieces(opened)) {
    const samples: RewardSample[] = [], results: (string | null)[] = [];
    const lines = new TextDecoder().decode(piece).split("\n");
    if (lines.at(-1) === "") lines.pop();
    for (const line of lines) {
      number++;
      if (line.trim() === "") continue;
      try {
        samples.push(readSample(JSON.parse(line), `line ${number}`, rubric, maxLength));
        results.push(null);
      } catch (error) {
        failed++;
        const message = error instanceof SyntaxError
          ? `line ${number}: not JSON: ${whyNotJson(error)}`
          : mistakeOf(error);
        results.push(JSON.stringify({ reward: null, error: message }));
      }
    }
    const { scores, errors } = await scoresOf(rubric, samples);
    const failures = new Map(errors.map(({ row, name, message }) => [row, `${name}: ${message}`]));
    let next = 0;
    const text = results.map((result) => {
      if (result !== null) return result;
      const error = failures.get(next);
      return JSON.stringify({ ...scores[next++], ...(error !== undefined && { error }) });
    });
    scored += samples.length;
    if (text.length > 0) writeResult(new TextEncoder().encode(text.join("\n") + "\n"));
  }
  return { scored, failed };
}

/** @returns the exit code: 1 when there were lines and none of them could be scored */
function scoreExit({ scored, failed }: Counts, file: string, line: string): number {
  if (scored > 0) return EXIT.ok;
  if (failed > 0) return EXIT.failure;
  log(
    `nothing was scored: ${file === "-" ? "stdin" : file} has no lines, expected ${line} in each`,
  );
  return EXIT.ok;
}

class ScorePool {
  /** The threads, each with the pieces that it has not returned, the oldest first. */
  readonly #threads: { worker: Worker; jobs: PromiseWithResolvers<PieceReply>[] }[];

  constructor(threads: number) {
    this.#threads = Array.from({ length: threads }, () => {
      const worker = new Worker(new URL("./score_worker.ts", import.meta.url), { type: "module" });
      const jobs: PromiseWithResolvers<PieceReply>[] = [];
      worker.onmessage = ({ data }: MessageEvent<PieceReply>) => jobs.shift()!.resolve(data);
      worker.onerror = (event) => {
        event.preventDefault();
        const error = new RgxError(`a thread that scores has failed: ${event.message}`);
        for (const job of jobs) job.reject(error);
      };
      return { worker, jobs };
    });
  }

  /** @throws RgxError when the thread dies */
  score(request: PieceRequest): Promise<PieceReply> {
    const { worker, jobs } = this.#threads.reduce((a, b) => b.jobs.length < a.jobs.length ? b : a);
    const job = Promise.withResolvers<PieceReply>();
    jobs.push(job);
    worker.postMessage(request, [request.lines.buffer]);
    return job.promise;
  }

  close(): void {
    for (const { worker } of this.#threads) worker.terminate();
  }
}

interface ScoreServerOptions {
  hostname: string;
  port: number;
  maxCompletionLength: number;
  /** Called for an error that no client has caused. */
  onDefect: (error: unknown) => void;
}

/** Largest body of a request, in bytes. */
const MAX_BODY = 2 ** 28;

export function startScoreServer(
  rubric: Rubric,
  { hostname, port, maxCompletionLength, onDefect }: ScoreServerOptions,
): { url: string; close: () => Promise<void> } {
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
    const turn = last.then(() => scoreRequest(request, rubric, maxCompletionLength));
    last = turn.catch(() => {});
    return await turn;
  };
  const { address, close } = listenOn(hostname, port, handler, (error) => {
    onDefect(error);
    return failure(500, "internal error");
  });
  return { url: `http://${address}`, close };
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
  const given = (body as { samples?: unknown } | null)?.samples;
  if (!Array.isArray(given)) return failure(400, "samples: expected a list of objects");
  let samples;
  try {
    samples = given.map((sample, i) => readSample(sample, `samples[${i}]`, rubric, maxLength));
  } catch (error) {
    return failure(400, mistakeOf(error));
  }
  const { scores, errors } = await scoresOf(rubric, samples);
  return Response.json({
    rewards: scores.map(({ reward }) => reward),
    values: Object.fromEntries(
      rubric.names.map((name) => [name, scores.map(({ values }) => values[name])]),
    ),
    errors: errors.map(({ row: index, name: reward, message }) => ({ index, reward, message })),
  });
}

/** An error in OpenAI's form. */
function failure(status: number, message: string): Response {
  return Response.json({ error: { message } }, { status });
}

type Json = Record<string, unknown>;

/** Columns of which one has the answer, unless the row is a task's problem. */
const ANSWERS = ["answer", "final_answer", "solution", "ground_truth", "reward_model"];

/**
 * A completion that another program wants to be scored: a row of its data with a completion, in the
 * columns of TRL's data sets, verl's, or those of `rgx tasks export`.
 * @param place for messages, such as "line 3"
 * @throws UsageError for what is missing or of another type
 */
function readSample(
  value: unknown,
  place: string,
  rubric: Pick<Rubric, "names" | "needs">,
  maxCompletionLength: number,
): RewardSample {
  if (!isRecord(value)) {
    throw new UsageError(`${place}: expected an object with completion and the columns of its row`);
  }
  const { completion, completion_ids, truncated, step, ...columns } = withVerlNames(value);
  const { prompt } = columns, text = textOf(completion, `${place}: completion`);
  const completionIds = idsOf(completion_ids, place);
  const entry = entriesOf([{ columns, place }], place)[0]!;
  // A null means that there is no right answer.
  const hasNoAnswer = entry.answer === null && entry.metadata["source_dataset"] === FILE_SOURCE &&
    !ANSWERS.some((name) => Object.hasOwn(columns, name));
  const found = Object.keys(value).join(", ");
  rubric.needs?.forEach((parts, k) => {
    const reward = `${place}: the reward ${rubric.names[k]} needs`;
    if (parts.includes("completionIds") && completion_ids == null) {
      throw new UsageError(`${reward} completion_ids, found only ${found}`);
    }
    if (parts.includes("answer") && hasNoAnswer) {
      throw new UsageError(`${reward} a column ${ANSWERS.join(", ")}, found only ${found}`);
    }
  });
  return {
    completion: text,
    completionIds,
    truncated: truncated === true,
    step: typeof step === "number" ? step : 0,
    prompt: typeof prompt === "string" ? prompt : entry.question,
    messages: entry.messages ?? null,
    answer: entry.answer,
    info: entry.metadata,
    entry,
    maxCompletionLength,
  };
}

/** The arguments of verl's `compute_score`, under the names of the columns that they come from. */
function withVerlNames(value: Json): Json {
  if (!Object.hasOwn(value, "solution_str")) return value;
  const { solution_str: completion, ground_truth, ...columns } = value;
  const { question, entry } = (columns["extra_info"] ?? {}) as Json;
  return {
    ...columns,
    completion,
    ...(ground_truth == null && entry == null ? {} : {
      reward_model: { ground_truth: ground_truth ?? "" },
    }),
    // verl does not give the prompt to its reward functions.
    prompt: columns["prompt"] ?? question ?? "(not given)",
  };
}

function textOf(value: unknown, place: string): string {
  if (typeof value === "string") return value;
  const [message, ...others] = Array.isArray(value) ? value : [];
  const content = (message as Json | undefined)?.["content"];
  if (others.length === 0 && typeof content === "string") return content;
  const found = JSON.stringify(value) ?? "none";
  throw new UsageError(`${place}: expected a text or a list with one message, found ${found}`);
}

function idsOf(value: unknown, place: string): number[] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value) && value.every(Number.isInteger)) return value;
  throw new UsageError(`${place}: completion_ids: expected a list of whole numbers`);
}

interface SampleScore {
  /** Sum of weight × value over the rewards that apply; null if none applies. */
  reward: number | null;
  /** By the rewards' names, unweighted. */
  values: Record<string, RewardValue>;
}

async function scoresOf(rubric: Rubric, samples: readonly RewardSample[]) {
  const { values, errors } = await rubric.score(samples);
  const scores = values.map((row): SampleScore => ({
    reward: row.every((value) => value === null)
      ? null
      : row.reduce<number>((sum, value, k) => sum + (value ?? 0) * rubric.weights[k]!, 0),
    values: Object.fromEntries(rubric.names.map((name, k) => [name, row[k]!])),
  }));
  return { scores, errors };
}

/** The message of an error that the other program has caused. Other errors are thrown. */
function mistakeOf(error: unknown): string {
  if (error instanceof RgxError) return error.message;
  throw error;
}
