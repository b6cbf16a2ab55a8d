/**
 * The process in which models of this machine are asked when a benchmark has several: it reads its jobs from
 * stdin, answers them on one device and writes every sample to stdout. It ends when its input does: the program
 * is gone, or wants no more.
 */
import { Interrupted, messageOf } from "../../core/errors.ts";
import { LineWriter, readLines } from "../../core/line_pipe.ts";
import type { ModelDevice } from "../local/local_model.ts";
import { LocalModels } from "../local/local_models.ts";
import type { RawAnswer, Took } from "../answerer.ts";
import { type Job, runJobs } from "./run_jobs.ts";

/** What a worker says; jobs are told by their place in the list. */
export type FromWorker =
  | { type: "loading"; job: number; share: number }
  | { type: "answer"; job: number; index: number; sample: number; raw: RawAnswer }
  | { type: "failed"; job: number; error: string }
  | { type: "finished"; job: number; took: Took }
  | { type: "done" };

/** Signals also reach children; their end is for the program to say. */
const SIGNALS: Deno.Signal[] = Deno.build.os === "windows"
  ? ["SIGINT", "SIGBREAK"]
  : ["SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2"];

/** Serves one list of jobs, then ends the process. */
export async function serveJobs(openDevice: () => Promise<ModelDevice>): Promise<never> {
  for (const signal of SIGNALS) Deno.addSignalListener(signal, () => {});
  const output = new LineWriter(Deno.stdout.writable, () => Deno.exit(1));
  const say = (message: FromWorker) => output.write(JSON.stringify(message));
  let wanted = true;
  const lines = readLines(Deno.stdin.readable);
  const { value } = await lines.next();
  const jobs: Job[] = value === undefined ? [] : parseJobs(value[0]!);
  (async () => {
    for await (const _ of lines); // until the input closes
    wanted = false;
  })();
  const place = new Map(jobs.map((job, i) => [job, i]));
  const first = new Map(
    jobs.map((job) => [job.model, jobs.findIndex((j) => j.model === job.model)]),
  );
  try {
    const device = await openDevice();
    await runJobs(jobs, new LocalModels(device), {
      loading: (model, share) => say({ type: "loading", job: first.get(model)!, share }),
      answer: (job, index, sample, raw) =>
        say({ type: "answer", job: place.get(job)!, index, sample, raw }),
      failed: (job, error) => say({ type: "failed", job: place.get(job)!, error }),
      finished: (model, took) => say({ type: "finished", job: first.get(model)!, took }),
    }, () => !wanted);
  } catch (error) {
    if (!(error instanceof Interrupted)) {
      jobs.forEach((_, job) => say({ type: "failed", job, error: messageOf(error) }));
    }
  }
  say({ type: "done" });
  await output.close();
  Deno.exit(0);
}

/** Jobs of one model, and of one task, share it again after the journey. */
function parseJobs(line: string): Job[] {
  const { models, sets, jobs } = JSON.parse(line) as PackedJobs;
  return jobs.map((job) => ({ ...job, model: models[job.model]!, set: sets[job.set]! }));
}

interface PackedJobs {
  models: Job["model"][];
  sets: Job["set"][];
  jobs: (Omit<Job, "model" | "set"> & { model: number; set: number })[];
}

/** The line that {@link serveJobs} reads. */
export function packJobs(jobs: readonly Job[]): string {
  const models = [...new Set(jobs.map(({ model }) => model))];
  const sets = [...new Set(jobs.map(({ set }) => set))];
  return JSON.stringify(
    {
      // A run's configuration stays with the program.
      models: models.map(({ name, where, settings, fingerprint }) => ({
        ...{ name, where, settings, fingerprint },
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
