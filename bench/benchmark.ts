/**
 * Models × tasks. The same problems, prompts, extraction and scoring as in training (data/), every sample on disk
 * soon after it is there, results in the files of result_file.ts. Nothing is printed here.
 */
import { EXIT, Interrupted, RgxError, UsageError } from "../core/errors.ts";
import { writeResults } from "./results/benchmark_files.ts";
import type { Took } from "./answerer.ts";
import { type BenchEvent, BenchmarkRun, type Shard } from "./benchmark_run.ts";
import type { ModelDevice } from "./local/local_model.ts";
import { LocalModels } from "./local/local_models.ts";
import { type Asked, isRemoteName, planModels } from "./plan/model_plan.ts";
import type { ModelRequest } from "./plan/model_request.ts";
import type { TaskRequest } from "./plan/test_set.ts";
import { RemoteModel } from "./remote/model.ts";
import { type RemoteOptions, RemoteServer, whoAnswers } from "./remote/server.ts";
import type { AllTasksResultFile, RemoteUsage, Sampling } from "./results/result_file.ts";
import { missingSamples, runJobs } from "./workers/run_jobs.ts";
import { SampleStore } from "./results/sample_store.ts";
import {
  fewCategories,
  fewerThanAsked,
  heldOutOnly,
  planTasks,
  withoutAnswers,
} from "./plan/task_plan.ts";
import { trainedOtherwise } from "./plan/trained_otherwise.ts";
import { runWorkers, type WorkerOptions } from "./workers/worker_pool.ts";

/** Which models meet which tasks, and how they are asked. */
export interface BenchmarkOptions {
  /** Folders (Hugging Face, runs, checkpoints, adapters) and `openai:NAME`. */
  models: readonly string[];
  tasks: readonly (string | TaskRequest)[];
  /** Problems of each task; default 100. */
  numExamples?: number;
  /** At most so many problems of a task, whatever it asks for. */
  limit?: number;
  /** Seed of the problems, and of the draws where `samplingSeed` is not given; default 42. */
  seed?: number;
  samplingSeed?: number;
  sampling?: Partial<Sampling>;
  /** Most completions at once of a model on this machine; default: as many as are fastest. */
  batchSize?: number;
  prompt?: Asked["prompt"];
  systemPrompts?: Asked["systemPrompts"];
  /** Also measure the models that adapters and runs began with; default true. */
  includeBase?: boolean;
  /** Default `benchmark_results`. */
  outputDir?: string;
  /** What an earlier benchmark in the folder has answered is not asked again. */
  resume?: boolean;
  /** Nothing is asked: the results of what earlier benchmarks in the folder have answered together. */
  merge?: boolean;
  /**
   * One part of several that run apart, each with every `count`-th combination of a model and a task. It leaves
   * its answers in the folder and no result: that is for `merge` once all parts are done.
   */
  shard?: Shard | null;
  /** Where models of this machine run; not needed for remote ones, nor with `workers`. */
  device?: ModelDevice;
  /** Processes for the models of this machine; default: none, they run in this one. */
  workers?: WorkerOptions | null;
  remote?: RemoteOptions;
  shouldStop?: () => boolean;
  onEvent?: (event: BenchEvent) => void;
}

/** What a benchmark measured and wrote. */
export interface Benchmark {
  result: AllTasksResultFile;
  /** Paths of what was written; the combined file comes last. */
  files: string[];
  /** Samples without an answer. */
  unanswered: number;
  /** Samples that this call evaluated, and that it found. */
  evaluated: number;
  resumed: number;
  /** What asking the server took; of remote models alone. */
  remote: RemoteUsage | null;
  /** What this call took; of models that ran at the same time the sum. In one process, the rest is the harness. */
  seconds: Took & { total: number };
  exitCode: number;
}

/**
 * Asks models the held-out problems of tasks and scores their answers as training does.
 * @throws UsageError before any work for what cannot be measured; RgxError when an endpoint is not reachable;
 *   Interrupted when `shouldStop` said so: what is answered stays, and `resume` goes on
 */
export async function benchmark(options: BenchmarkOptions): Promise<Benchmark> {
  const start = performance.now();
  const { outputDir = "benchmark_results", seed = 42, onEvent = () => {} } = options;
  const { models, sampling, warnings } = await planModels(options.models, {
    seed: options.samplingSeed ?? seed,
    remote: {
      address: options.models.some(isRemoteName) ? whoAnswers(options.remote ?? {}) : "",
      format: options.remote?.completions ? "plain" : "chat",
    },
    includeBase: options.includeBase ?? true,
    ...(options.sampling && { sampling: options.sampling }),
    ...(options.batchSize !== undefined && { batchSize: options.batchSize }),
    ...(options.prompt && { prompt: options.prompt }),
    ...(options.systemPrompts && { systemPrompts: options.systemPrompts }),
  });
  const runs = models.flatMap(({ run }) => run ?? []);
  const sets = await planTasks(options, seed, runs), unanswerable = withoutAnswers(sets);
  const isRemote = (model: ModelRequest) => model.where.kind === "remote";
  const merge = options.merge ?? false, shard = options.shard ?? null;
  if (!merge && options.device === undefined && !options.workers && !models.every(isRemote)) {
    throw new UsageError("benchmark: models of this machine need a device or workers");
  }
  const resume = merge || (options.resume ?? false);
  const connect = () => RemoteServer.connect(options.remote ?? {}, outputDir);
  // A resume may find that nothing is left to ask.
  let server = !resume && models.some(isRemote) ? await connect() : null;
  const told = [
    ...warnings,
    ...fewerThanAsked(options, sets),
    ...heldOutOnly(sets),
    ...unanswerable,
    ...fewCategories(sets),
    ...trainedOtherwise(models, sets),
  ];
  for (const message of told) {
    onEvent({ type: "warning", message });
  }
  // Parts may begin in the same second.
  const part = shard === null ? "" : `_part-${shard.index}-of-${shard.count}`;
  const store = await SampleStore.open(outputDir, { part, resume });
  // Answers that cannot be kept are not asked for.
  const shouldStop = () => store.failure !== null || (options.shouldStop?.() ?? false);
  try {
    const run = new BenchmarkRun(models, sets, shard, store, sampling.samples, onEvent);
    onEvent({
      type: "plan",
      models: models.map(({ name }) => name),
      tasks: sets.map(({ label }) => label),
      combinations: run.combinations.length,
      samples: run.total,
    });
    if (merge && run.resumed === 0) throw nothingToMerge(outputDir);
    if (run.resumed > 0) onEvent({ type: "resumed", samples: run.resumed });
    const jobs = merge ? [] : run.jobs, local = jobs.filter((job) => !isRemote(job.model));
    const remote = jobs.filter((job) => isRemote(job.model));
    if (remote.length > 0) server ??= await connect();
    const workers = options.workers ?? null;
    const here = async () => {
      await runJobs(
        remote,
        { open: (model) => Promise.resolve(new RemoteModel(server!, model)), close: () => {} },
        run.listener(workers === null ? 0 : workers.devices.length, missingSamples(remote)),
        shouldStop,
      );
    };
    if (workers === null) {
      await runJobs(
        local,
        new LocalModels(options.device!),
        run.listener(0, missingSamples(local)),
        shouldStop,
      );
      await here();
    } else {
      const both = [runWorkers(local, workers, (w, n) => run.listener(w, n), shouldStop), here()];
      // Both have ended before the store is closed.
      const failed = (await Promise.allSettled(both)).find(({ status }) => status === "rejected");
      if (failed !== undefined) throw (failed as PromiseRejectedResult).reason;
    }
    if (shouldStop() && run.answered < run.total) throw new Interrupted();
    const result = await run.result(store.stamp, seed, options.samplingSeed ?? seed, sampling);
    const remoteUsage = server?.usage() ?? null;
    if (remoteUsage !== null) result.remote = remoteUsage;
    run.warnOfGaps(result);
    const files = shard === null ? await writeResults(outputDir, result) : [];
    const unanswered = run.total - run.answered + run.errors;
    return {
      result,
      files,
      unanswered,
      evaluated: run.evaluated,
      resumed: run.resumed,
      remote: remoteUsage,
      seconds: { total: (performance.now() - start) / 1000, ...run.took },
      exitCode: unanswered > 0 || result.failures.length > 0 ? EXIT.failure : EXIT.ok,
    };
  } finally {
    server?.close();
    store.close();
  }
}

function nothingToMerge(folder: string): RgxError {
  return new RgxError(`${folder} holds no answers of these models to these tasks`, {
    advice: "A merge takes the settings of the parts: the same seed, sampling, prompts and server.",
  });
}
