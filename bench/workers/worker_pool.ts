/**
 * Shares the work of a benchmark among worker processes, one for each device. Combinations are
 * dealt out in turn; the last ones, fewer than there are workers, are split by problems.
 *
 * When a process dies, another one asks the combinations that were left, one after the other. So it
 * is known at which one it dies: that combination is reported, and a further process goes on with
 * the rest. Answers are kept, and a resume goes on with them.
 */
import { Interrupted } from "../../core/errors.ts";
import { LineWriter, readLines } from "../../core/line_pipe.ts";
import { deal, type Job, missingSamples, type OnJobEvent } from "./run_jobs.ts";
import type { ModelRequest } from "../plan/model_request.ts";
import { type FromWorker, packJobs } from "./worker.ts";
import { WORKER_COMMAND } from "./worker_command.ts";

/** The worker processes. */
export interface WorkerOptions {
  /** A worker for each, such as wasm or webgpu:1; a device may be named several times. */
  devices: readonly string[];
  /** Threads of each worker's CPU device; null = the device chooses. */
  threads: number | null;
  /** The command that starts this program: the executable, or Deno with its arguments. */
  command: readonly string[];
}

/** Milliseconds between two checks whether the benchmark should stop. */
const POLL_MS = 100;
/** Milliseconds that a process gets to end its computation; its answers are here already. */
const GRACE_MS = 3000;

/** @throws Interrupted when `shouldStop` returned true */
export async function runWorkers(
  jobs: readonly Job[],
  options: WorkerOptions,
  listener: (worker: number, total: number) => OnJobEvent,
  shouldStop: () => boolean,
): Promise<void> {
  const shares = deal(jobs, options.devices.length);
  const results = await Promise.allSettled(options.devices.map((device, worker) => {
    const share = shares[worker]!;
    return runOne(share, device, options, listener(worker, missingSamples(share)), shouldStop);
  }));
  const failed = results.find(({ status }) => status === "rejected");
  if (failed !== undefined) throw (failed as PromiseRejectedResult).reason;
}

/** Runs the jobs of one device. */
async function runOne(
  jobs: readonly Job[],
  device: string,
  options: WorkerOptions,
  emit: OnJobEvent,
  shouldStop: () => boolean,
): Promise<void> {
  if (jobs.length === 0) return;
  let died = await runProcess(jobs, device, options, emit, shouldStop);
  while (died !== null && died.left.length > 0) {
    const again = await runProcess(died.left, device, options, emit, shouldStop, { alone: true });
    if (again !== null) {
      const job = again.left.find(({ model }) => model === again.model) ?? again.left[0]!;
      emit({ type: "failed", job, error: again.why });
      again.left.splice(again.left.indexOf(job), 1);
    }
    died = again;
  }
}

interface Died {
  why: string;
  /** The model that it last said something of; null: of none yet. */
  model: ModelRequest | null;
  /** Jobs that have not failed, with the samples that they still lack. */
  left: Job[];
}

/** Runs jobs in one process; null: it has done all of them. */
async function runProcess(
  jobs: readonly Job[],
  device: string,
  { command, threads }: WorkerOptions,
  emit: OnJobEvent,
  shouldStop: () => boolean,
  { alone = false } = {},
): Promise<Died | null> {
  const [program, ...start] = command;
  const child = new Deno.Command(program!, {
    args: [
      ...start,
      WORKER_COMMAND,
      "--device",
      device,
      ...(threads === null ? [] : ["--threads", String(threads)]),
      ...(alone ? ["--alone"] : []),
    ],
    stdin: "piped",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const input = new LineWriter(child.stdin, () => {});
  input.write(packJobs(jobs));
  let stopped = false, patience: ReturnType<typeof setTimeout> | undefined;
  const timer = setInterval(() => {
    if (!stopped && shouldStop()) {
      stopped = true;
      input.close();
      patience = setTimeout(() => child.kill("SIGKILL"), GRACE_MS);
    }
  }, POLL_MS);
  const answered = new Set<string>(), over = new Set<Job>();
  let done = false, model: ModelRequest | null = null;
  try {
    for await (const lines of readLines(child.stdout)) {
      for (const message of lines.flatMap(parse)) {
        if (message.type === "done") {
          done = true;
          continue;
        }
        const job = jobs[message.job]!;
        model = job.model;
        if (message.type === "failed") over.add(job);
        else if (message.type === "answer") {
          answered.add(`${message.job} ${message.index} ${message.sample}`);
        }
        emit({ ...message, job });
      }
    }
  } finally {
    clearInterval(timer);
    clearTimeout(patience);
    if (!stopped) await input.close();
  }
  const { code, signal } = await child.status;
  if (stopped) throw new Interrupted();
  if (done) return null;
  const left = jobs.flatMap((job, place) => {
    const missing = job.missing.map(({ index, samples }) => ({
      index,
      samples: samples.filter((sample) => !answered.has(`${place} ${index} ${sample}`)),
    })).filter(({ samples }) => samples.length > 0);
    return over.has(job) || missing.length === 0 ? [] : [{ ...job, missing }];
  });
  return left.length === 0
    ? null
    : { why: `its process ended (${signal ?? `exit code ${code}`})`, model, left };
}

/** Reads a message; nothing for other text, which a crashing process may print. */
function parse(line: string): FromWorker[] {
  try {
    const message = JSON.parse(line);
    return typeof message?.type === "string" ? [message] : [];
  } catch {
    return [];
  }
}
