/**
 * The work of one worker: combinations of models and tasks. Each model is loaded once and answers
 * its tasks together; models with the same weights follow each other. A combination that fails is
 * reported, and the others go on. When several tasks fail together, each is tried alone, to find
 * out which one it was.
 */
import { Interrupted, messageOf } from "../../core/errors.ts";
import { Refused } from "../../core/remote/refusal.ts";
import type { Answerer, Answerers, Question, RawAnswer, Took } from "../answerer.ts";
import { type ModelRequest, sharedWeights } from "../plan/model_request.ts";
import type { TestSet } from "../plan/test_set.ts";
import { sampleNumber } from "../results/sample_store.ts";

/** A combination with the samples that it still lacks. */
export interface Job {
  model: ModelRequest;
  set: TestSet;
  /** Key of its samples in the store. */
  key: string;
  /** Problems by index, each with the numbers of its missing samples (at least one). */
  missing: { index: number; samples: readonly number[] }[];
}

/**
 * What happens to jobs. `loading` and `finished` are about the model of a job; the share of its
 * weights that is loaded is 0 at the beginning. Between processes, the place of a job in their list
 * stands for it.
 */
export type JobEvent<Of = Job> =
  | { type: "loading"; job: Of; share: number }
  | { type: "answer"; job: Of; index: number; sample: number; raw: RawAnswer }
  | { type: "failed"; job: Of; error: string }
  | { type: "finished"; job: Of; took: Took };

export type OnJobEvent = (event: JobEvent) => void;

/**
 * @param alone each combination is asked when the one before it has ended
 * @throws Interrupted when `shouldStop` returned true; all other errors are events
 */
export async function runJobs(
  jobs: readonly Job[],
  models: Answerers,
  emit: OnJobEvent,
  shouldStop: () => boolean,
  { alone = false } = {},
): Promise<void> {
  try {
    for (const model of byWeights(new Set(jobs.map((job) => job.model)))) {
      const jobsOfModel = jobs.filter((job) => job.model === model), job = jobsOfModel[0]!;
      if (shouldStop()) throw new Interrupted();
      emit({ type: "loading", job, share: 0 });
      const start = performance.now();
      let answerer: Answerer;
      try {
        answerer = await models.open(model, (share) => emit({ type: "loading", job, share }));
      } catch (error) {
        if (error instanceof Interrupted) throw error;
        for (const job of jobsOfModel) emit({ type: "failed", job, error: messageOf(error) });
        continue;
      }
      const loaded = performance.now();
      for (const some of alone ? jobsOfModel.map((job) => [job]) : [jobsOfModel]) {
        await askAll(answerer, some, emit, shouldStop);
      }
      const loading = (loaded - start) / 1000, asking = (performance.now() - loaded) / 1000;
      const took = { loading, asking, model: answerer.modelSeconds ?? asking };
      emit({ type: "finished", job, took });
    }
  } finally {
    models.close();
  }
}

/** Number of samples that jobs ask for. */
export function missingSamples(jobs: readonly Job[]): number {
  let count = 0;
  for (const { missing } of jobs) for (const { samples } of missing) count += samples.length;
  return count;
}

/**
 * The jobs of each worker. The last jobs, fewer than there are workers, are split: each worker gets
 * every n-th problem of one of them, so that no device is idle while others work.
 */
export function deal(jobs: readonly Job[], workers: number): Job[][] {
  const whole = jobs.length - jobs.length % workers, rest = jobs.slice(whole);
  return Array.from({ length: workers }, (_, worker) => {
    const dealt = jobs.slice(0, whole).filter((_, i) => i % workers === worker);
    if (rest.length === 0) return dealt;
    const at = worker % rest.length, job = rest[at]!;
    const parts = Math.ceil((workers - at) / rest.length), part = Math.floor(worker / rest.length);
    const missing = job.missing.filter((_, i) => i % parts === part);
    return missing.length === 0 ? dealt : [...dealt, { ...job, missing }];
  });
}

/** Puts models with the same weights together, at the place of the first of them. */
function byWeights(models: Iterable<ModelRequest>): ModelRequest[] {
  const groups = Map.groupBy(
    models,
    (model) => sharedWeights(model) ?? model,
  );
  return [...groups.values()].flat();
}

async function askAll(
  answerer: Answerer,
  jobs: readonly Job[],
  emit: OnJobEvent,
  shouldStop: () => boolean,
): Promise<void> {
  const failed = (job: Job, error: unknown) =>
    emit({ type: "failed", job, error: messageOf(error) });
  const jobOf = new Map(jobs.map((job) => [job.set, { job, done: new Set<number>() }]));
  const ask = (some: readonly Job[]) =>
    answerer.answer(
      some.flatMap((job) => questions(job, jobOf.get(job.set)!.done)),
      ({ set, index }, sample, raw) => {
        const { job, done } = jobOf.get(set)!;
        done.add(sampleNumber(index, sample));
        emit({ type: "answer", job, index, sample, raw });
      },
      shouldStop,
    );
  try {
    await ask(jobs);
  } catch (error) {
    if (error instanceof Interrupted) throw error;
    if (jobs.length === 1) return failed(jobs[0]!, error);
    const left = jobs.filter((job) => questions(job, jobOf.get(job.set)!.done).length > 0);
    if (error instanceof Refused) { // each task alone would be refused too
      return left.forEach((job) => failed(job, error));
    }
    for (const job of left) {
      try {
        await ask([job]);
      } catch (alone) {
        if (alone instanceof Interrupted) throw alone;
        failed(job, alone);
      }
    }
  }
}

function questions({ set, missing }: Job, done: ReadonlySet<number>): Question[] {
  return missing.flatMap(({ index, samples }) => {
    const left = done.size === 0
      ? samples
      : samples.filter((sample) => !done.has(sampleNumber(index, sample)));
    return left.length === 0 ? [] : [{ set, index, samples: left }];
  });
}
