/**
 * Combinations of models and tasks, worked through by one worker: each model is loaded once, its tasks are
 * answered together, and models on the same weights follow each other. A combination that crashes is reported and
 * the others go on; when a batch of several tasks crashes, each task is tried alone to find out which one it was.
 */
import { Interrupted, messageOf } from "../../core/errors.ts";
import {
  type Answerer,
  type Answerers,
  type Question,
  type RawAnswer,
  Refused,
  type Took,
} from "../answerer.ts";
import { type ModelRequest, sharedWeights } from "../plan/model_request.ts";
import type { TestSet } from "../plan/test_set.ts";
import { sampleNumber } from "../results/sample_store.ts";

/** A combination with the samples that it still lacks. */
export interface Job {
  model: ModelRequest;
  set: TestSet;
  /** Of its samples in the store. */
  key: string;
  /** By index of the problem; each with at least one sample. */
  missing: { index: number; samples: readonly number[] }[];
}

export interface JobListener {
  /** @param share of its weights, 0 at the beginning */
  loading(model: ModelRequest, share: number): void;
  answer(job: Job, index: number, sample: number, answer: RawAnswer): void;
  failed(job: Job, error: string): void;
  finished(model: ModelRequest, took: Took): void;
}

/** @throws Interrupted when `shouldStop` said so; anything else is told to the listener */
export async function runJobs(
  jobs: readonly Job[],
  models: Answerers,
  listener: JobListener,
  shouldStop: () => boolean,
): Promise<void> {
  try {
    for (const model of byWeights(new Set(jobs.map((job) => job.model)))) {
      const own = jobs.filter((job) => job.model === model);
      if (shouldStop()) throw new Interrupted();
      listener.loading(model, 0);
      const start = performance.now();
      let answerer: Answerer;
      try {
        answerer = await models.open(model, (share) => listener.loading(model, share));
      } catch (error) {
        if (error instanceof Interrupted) throw error;
        for (const job of own) listener.failed(job, messageOf(error));
        continue;
      }
      const loaded = performance.now();
      await askAll(answerer, own, listener, shouldStop);
      const asking = (performance.now() - loaded) / 1000;
      listener.finished(model, {
        ...{ loading: (loaded - start) / 1000, asking },
        model: answerer.modelSeconds ?? asking,
      });
    }
  } finally {
    models.close();
  }
}

/** Samples that jobs ask for. */
export function missingSamples(jobs: readonly Job[]): number {
  let count = 0;
  for (const { missing } of jobs) for (const { samples } of missing) count += samples.length;
  return count;
}

/** Those on the same weights one after the other, each such group in the place of its first. */
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
    if (error instanceof Refused) { // each alone would be refused too
      for (const job of left) listener.failed(job, messageOf(error));
      return;
    }
    for (const job of left) {
      try {
        await ask([job]);
      } catch (own) {
        if (own instanceof Interrupted) throw own;
        listener.failed(job, messageOf(own));
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
