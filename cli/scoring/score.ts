/**
 * `rgx score`: with rewards, as other trainers have them (`reward_lines.ts`, `score_server.ts`);
 * without, it reads answers or completions and writes scores, line by line and in order. The input
 * is cut at line ends into pieces. Only a few of them are in memory at a time. A large input is
 * scored by all cores; when the input comes slowly, each line is answered at once.
 */
import { isLoopback } from "../../core/remote/callers.ts";
import { EXIT, UsageError } from "../../core/errors.ts";
import { defaultThreads } from "../../kernels/devices/wasm/threads.ts";
import { createRubric, type Rubric } from "../../rewards/rubric.ts";
import { stopSignal } from "../stop_signal.ts";
import { registerTaskFile } from "../../tasks/custom/task_file.ts";
import { type ChosenRewards, chosenRewards, type RewardFlags } from "./reward_flags.ts";
import { scoreRewardLines } from "./reward_lines.ts";
import { scoreExit } from "./score_exit.ts";
import { scoreLines } from "./score_lines.ts";
import { startScoreServer } from "./score_server.ts";
import { ScorePool } from "./score_pool.ts";
import { log, print, writeResult } from "../terminal/terminal.ts";

interface ScoreFlags extends RewardFlags {
  completions?: boolean;
  /** Files of tasks. They run in processes of their own, so one thread scores. */
  task: string[];
  /** Default: one per core. */
  threads?: number;
  serve?: boolean;
  host: string;
  port: number;
}

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
  const rubric = createRubric(sections, { rewardTimeout });
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
  print(server.url);
  await stopSignal();
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
  /** Pieces that are not written yet, the oldest first. Each is written after those before it. */
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

/** @throws UsageError for a file that is none */
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
