/**
 * Worker processes: combinations are dealt to them in turn, one process a device at a time, and those that are left
 * over, fewer than there are workers, in parts. A process that dies takes no other combination with it: those that it
 * had left are tried again, those of the model that it was busy with one by one. One that ends a process of its own
 * goes on in another as long as each has answered something (a machine that was short of memory for a moment), and is
 * reported after that.
 */
import { Interrupted } from "../../core/errors.ts";
import { LineWriter, readLines } from "../../core/line_pipe.ts";
import { type Job, type JobListener, missingSamples } from "./run_jobs.ts";
import { type FromWorker, packJobs } from "./worker.ts";
import { WORKER_COMMAND } from "./worker_command.ts";

/** Processes that share the work. */
export interface WorkerOptions {
  /** One worker each, such as wasm or webgpu:1; the same device may stand several times. */
  devices: readonly string[];
  /** Threads of each worker's CPU device; null = its own choice. */
  threads: number | null;
  /** How the program is started: the executable, or Deno with its arguments. */
  command: readonly string[];
}

/** Milliseconds between two looks whether the benchmark shall stop. */
const LOOK = 100;
/** Milliseconds that a process gets to end what it computes; what it has answered is here already. */
const GRACE = 3000;
/** Processes with one combination alone that a worker may lose and start again. */
const MOST_DEATHS = 10;

/** @throws Interrupted when `shouldStop` said so */
export async function runWorkers(
  jobs: readonly Job[],
  options: WorkerOptions,
  listener: (worker: number, total: number) => JobListener,
  shouldStop: () => boolean,
): Promise<void> {
  const shares = deal(jobs, options.devices.length);
  const results = await Promise.allSettled(options.devices.map((device, worker) => {
    const own = shares[worker]!;
    return runOne(own, device, options, listener(worker, missingSamples(own)), shouldStop);
  }));
  const failed = results.find(({ status }) => status === "rejected");
  if (failed !== undefined) throw (failed as PromiseRejectedResult).reason;
}

/**
 * The jobs of each worker. Of the last ones, which do not go round, a worker gets every n-th problem, so that no
 * device is idle while others have work.
 */
function deal(jobs: readonly Job[], workers: number): Job[][] {
  const whole = jobs.length - jobs.length % workers, rest = jobs.slice(whole);
  return Array.from({ length: workers }, (_, worker) => {
    const own = jobs.slice(0, whole).filter((_, i) => i % workers === worker);
    if (rest.length === 0) return own;
    const at = worker % rest.length, job = rest[at]!;
    const parts = Math.ceil((workers - at) / rest.length), part = Math.floor(worker / rest.length);
    const missing = job.missing.filter((_, i) => i % parts === part);
    return missing.length === 0 ? own : [...own, { ...job, missing }];
  });
}

/** All jobs of one device, in as many processes as it takes. */
async function runOne(
  jobs: readonly Job[],
  device: string,
  options: WorkerOptions,
  listener: JobListener,
  shouldStop: () => boolean,
): Promise<void> {
  const queue: (readonly Job[])[] = jobs.length === 0 ? [] : [jobs];
  let deaths = 0;
  for (let some = queue.shift(); some !== undefined; some = queue.shift()) {
    const died = await runProcess(some, device, options, listener, shouldStop);
    if (died === null) continue;
    const { left, busyWith, why } = died;
    if (some.length === 1) {
      if (missingSamples(left) < missingSamples(some) && deaths++ < MOST_DEATHS) {
        queue.unshift(left);
      } else listener.failed(some[0]!, why);
      continue;
    }
    const suspects = left.filter((job) => job.model === busyWith.model);
    const others = left.filter((job) => job.model !== busyWith.model);
    queue.unshift(...suspects.map((job) => [job]), ...(others.length === 0 ? [] : [others]));
  }
}

interface Died {
  why: string;
  busyWith: Job;
  /** Jobs that lack samples and have not failed, with what they lack. */
  left: Job[];
}

/** null: the process did all that it was asked for. */
async function runProcess(
  jobs: readonly Job[],
  device: string,
  { command, threads }: WorkerOptions,
  listener: JobListener,
  shouldStop: () => boolean,
): Promise<Died | null> {
  const [program, ...start] = command;
  const child = new Deno.Command(program!, {
    args: [
      ...start,
      WORKER_COMMAND,
      "--device",
      device,
      ...(threads === null ? [] : ["--threads", String(threads)]),
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
      patience = setTimeout(() => child.kill("SIGKILL"), GRACE);
    }
  }, LOOK);
  const answered = new Set<string>(), over = new Set<Job>();
  let busyWith = jobs[0]!, done = false;
  try {
    for await (const lines of readLines(child.stdout)) {
      for (const message of lines.flatMap(parse)) {
        if (message.type === "done") {
          done = true;
          continue;
        }
        const job = jobs[message.job]!;
        if (message.type === "loading") listener.loading((busyWith = job).model, message.share);
        else if (message.type === "finished") listener.finished(job.model, message.took);
        else if (message.type === "failed") {
          over.add(job);
          listener.failed(job, message.error);
        } else {
          const { index, sample, raw } = message;
          answered.add(`${message.job} ${index} ${sample}`);
          listener.answer(job, index, sample, raw);
        }
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
    : { why: `its process ended (${signal ?? `exit code ${code}`})`, busyWith, left };
}

/** What a worker said; nothing when it is something else, as a crashing process may print. */
function parse(line: string): FromWorker[] {
  try {
    const message = JSON.parse(line);
    return typeof message?.type === "string" ? [message] : [];
  } catch {
    return [];
  }
}
