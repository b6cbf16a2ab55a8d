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

export interface JobListener {
  /** @param share share of the weights that is loaded; 0 at the beginning */
  loading(model: ModelRequest, share: number): void;
  answer(job: Job, index: number, sample: number, answer: RawAnswer): void;
  failed(job: Job, error: string): void;
  finished(model: ModelRequest, took: Took): void;
}

/** @throws Interrupted when `shouldStop` returned true; all other errors go to the listener */
export async function runJobs(
  jobs: readonly Job[],
  models: Answerers,
  listener: JobListener,
  shouldStop: () => boolean,
): Promise<void> {
  try {
    for (const model of byWeights(new Set(jobs.map((job) => job.model)))) {
      const jobsOfModel = jobs.filter((job) => job.model === model);
      if (shouldStop()) throw new Interrupted();
      listener.loading(model, 0);
      const start = performance.now();
      let answerer: Answerer;
      try {
        answerer = await models.open(model, (share) => listener.loading(model, share));
      } catch (error) {
        if (error instanceof Interrupted) throw error;
        for (const job of jobsOfModel) listener.failed(job, messageOf(error));
        continue;
      }
      const loaded = performance.now();
      await askAll(answerer, jobsOfModel, listener, shouldStop);
      const asking = (performance.now() - loaded) / 1000;
      listener.finished(model, {
        loading: (loaded - start) / 1000,
        asking,
        model: answerer.modelSeconds ?? asking,
      });
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
  listener: JobListener,
  shouldStop: () => boolean,
): Promise<void> {
  const jobOf = new Map(jobs.map((job) => [job.set, { job, done: new Set<number>() }]));
  const ask = (some: readonly Job[]) =>
    answerer.answer(
      some.flatMap((job) => questions(job, jobOf.get(job.set)!.done)),
      ({ set, index }, sample, raw) => {
        const { job, done } = jobOf.get(set)!;
        done.add(sampleNumber(index, sample));
        listener.answer(job, index, sample, raw);
      },
      shouldStop,
    );
  try {
    await ask(jobs);
  } catch (error) {
    if (error instanceof Interrupted) throw error;
    if (jobs.length === 1) return listener.failed(jobs[0]!, messageOf(error));
    const left = jobs.filter((job) => questions(job, jobOf.get(job.set)!.done).length > 0);
    if (error instanceof Refused) { // each task alone would be refused too
      for (const job of left) listener.failed(job, messageOf(error));
      return;
    }
    for (const job of left) {
      try {
        await ask([job]);
      } catch (alone) {
        if (alone instanceof Interrupted) throw alone;
        listener.failed(job, messageOf(alone));
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
