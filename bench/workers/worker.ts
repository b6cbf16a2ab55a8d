/**
 * A worker process of a benchmark. It reads its jobs from stdin, answers them on one device, and
 * writes every sample to stdout. It stops when its input closes: the benchmark has ended, or wants
 * no more answers.
 */
import { Interrupted, messageOf } from "../../core/errors.ts";
import { LineWriter, readLines } from "../../core/line_pipe.ts";
import { LocalModels, type ModelDevice } from "../local/local_model.ts";
import { type Job, type JobEvent, type OnJobEvent, runJobs } from "./run_jobs.ts";

/** A message of a worker. */
export type FromWorker = JobEvent<number> | { type: "done" };

/** Signals that a terminal also sends to children. A worker ignores them: the benchmark ends it. */
const SIGNALS: Deno.Signal[] = Deno.build.os === "windows"
  ? ["SIGINT", "SIGBREAK"]
  : ["SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2"];

/**
 * Serves one list of jobs, then ends the process.
 * @param options those of {@link runJobs}
 */
export async function serveJobs(
  openDevice: () => Promise<ModelDevice>,
  options: { alone?: boolean },
): Promise<never> {
  for (const signal of SIGNALS) Deno.addSignalListener(signal, () => {});
  const output = new LineWriter(Deno.stdout.writable, () => Deno.exit(1));
  const send = (message: FromWorker) => output.write(JSON.stringify(message));
  let wanted = true;
  const lines = readLines(Deno.stdin.readable);
  const { value } = await lines.next();
  const jobs: Job[] = value === undefined ? [] : unpackJobs(value[0]!);
  (async () => {
    for await (const _ of lines); // reads until the input closes
    wanted = false;
  })();
  try {
    const device = await openDevice();
    const models = new LocalModels(device), emit = asMessages(jobs, send);
    await runJobs(jobs, models, emit, () => !wanted, options);
  } catch (error) {
    if (!(error instanceof Interrupted)) {
      jobs.forEach((_, job) => send({ type: "failed", job, error: messageOf(error) }));
    }
  }
  send({ type: "done" });
  await output.close();
  Deno.exit(0);
}

/** Sends the events of jobs as messages. */
export function asMessages(
  jobs: readonly Job[],
  send: (message: JobEvent<number>) => void,
): OnJobEvent {
  const place = new Map(jobs.map((job, i) => [job, i]));
  return ({ job, ...event }) => send({ ...event, job: place.get(job)! });
}

/** Restores shared objects: jobs with the same model (or task) point to one object. */
export function unpackJobs(line: string): Job[] {
  const { models, sets, jobs } = JSON.parse(line) as PackedJobs;
  return jobs.map((job) => ({ ...job, model: models[job.model]!, set: sets[job.set]! }));
}

interface PackedJobs {
  models: Job["model"][];
  sets: Job["set"][];
  jobs: (Omit<Job, "model" | "set"> & { model: number; set: number })[];
}

/** Writes jobs as the line that {@link unpackJobs} reads. */
export function packJobs(jobs: readonly Job[]): string {
  const models = [...new Set(jobs.map(({ model }) => model))];
  const sets = [...new Set(jobs.map(({ set }) => set))];
  return JSON.stringify(
    {
      // A worker does not need the configuration of a model's run.
      models: models.map(({ name, where, settings, fingerprint }) => ({
        name,
        where,
        settings,
        fingerprint,
      })),
      sets,
      jobs: jobs.map((job) => ({
        ...job,
        model: models.indexOf(job.model),
        set: sets.indexOf(job.set),
      })),
    } satisfies PackedJobs,
  );
}
