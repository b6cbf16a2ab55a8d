/**
 * A benchmark: asks models the held-out problems of tasks. Problems, prompts, answer extraction and
 * scoring are those of training (data/, bench/evaluation/). Every sample is stored on disk soon
 * after it is there; the results are files of the format in results/result_file.ts. Nothing is
 * printed here.
 */
import { EXIT, Interrupted, RgxError, UsageError } from "../core/errors.ts";
import { withPermissions } from "../core/machine/permissions.ts";
import { type AllTasksResultFile, type Sampling, writeResults } from "./results/result_file.ts";
import type { Took } from "./answerer.ts";
import { type BenchEvent, BenchmarkRun, type Shard } from "./benchmark_run.ts";
import { LocalModels, type ModelDevice } from "./local/local_model.ts";
import { isRemoteName } from "../core/remote/model_names.ts";
import { type AskedModels, planModels } from "./plan/model_plan.ts";
import type { ModelRequest } from "./plan/model_request.ts";
import type { TestSet } from "./plan/test_set.ts";
import { RemoteModel } from "./remote/model.ts";
import {
  type RemoteOptions,
  RemoteServer,
  type RemoteUsage,
  whoAnswers,
} from "../core/remote/server.ts";
import { type Job, missingSamples, runJobs } from "./workers/run_jobs.ts";
import { ALONE, type Ranks } from "../cluster/ranks/ranks.ts";
import { runOnRanks } from "./workers/rank_jobs.ts";
import { SampleStore } from "./results/sample_store.ts";
import {
  type AskedTasks,
  fewCategories,
  fewerThanAsked,
  planTasks,
  rowsLeftOut,
  withoutAnswers,
} from "./plan/task_plan.ts";
import { runWorkers, type WorkerOptions } from "./workers/worker_pool.ts";
import type { RunConfig } from "../configs/schema/run_config.ts";
import { hasTask, resolveTaskConfig } from "../tasks/registry.ts";

/** Which models answer which tasks, and how they are asked. */
export interface BenchmarkOptions
  extends AskedTasks, Pick<AskedModels, "sampling" | "batchSize" | "prompt" | "systemPrompts"> {
  /**
   * Folders (Hugging Face, runs, checkpoints, adapters) and `openai:NAME`; each may have a name of
   * one's own: `tuned=runs/a`.
   */
  models: readonly string[];
  /** Seed of the problems, and of the draws unless `samplingSeed` is given; default 42. */
  seed?: number;
  /** Seed of the draws; default: `seed`. */
  samplingSeed?: number;
  /** Also measure the models that adapters and runs began with; default true. */
  includeBase?: boolean;
  /** Default `benchmark_results`. */
  outputDir?: string;
  /** Keep the answers of earlier benchmarks in the folder, and ask only for the others. */
  resume?: boolean;
  /** Ask nothing; make the result from the answers of all earlier benchmarks in the folder. */
  merge?: boolean;
  /**
   * Run one of several separate parts, each with every `count`-th combination of a model and a
   * task. A part leaves only its answers in the folder; `merge` makes the result when all parts are
   * done.
   */
  shard?: Shard | null;
  /** Device of the models on this machine; not needed with `workers`, or for remote models. */
  device?: ModelDevice;
  /** Worker processes for the models on this machine; default: they run in this process. */
  workers?: WorkerOptions | null;
  /**
   * Ranks that share the models on this machine; on all but the first, `assistBenchmark` runs.
   * @internal
   */
  ranks?: Ranks;
  /** The server that answers for `openai:NAME`. */
  remote?: RemoteOptions;
  /** Called between answers. When it returns true, the benchmark ends early. */
  shouldStop?: () => boolean;
  /** Aborting it ends the benchmark early, as `shouldStop` does. */
  signal?: AbortSignal;
  /** Called with progress and warnings. */
  onEvent?: (event: BenchEvent) => void;
}

/** The results of a benchmark, and the files that it wrote. */
export interface Benchmark {
  /** The results of all models on all tasks. */
  result: AllTasksResultFile;
  /** Paths of the written files; the combined file comes last. */
  files: string[];
  /** Samples without an answer. */
  unanswered: number;
  /** Samples that this call evaluated. */
  evaluated: number;
  /** Samples that earlier calls had evaluated. */
  resumed: number;
  /** Requests, tokens and cost of the server; null without remote models. */
  remote: RemoteUsage | null;
  /**
   * The parts of the time of this call, summed over models (also if they ran at the same time). In
   * one process, the rest of `total` is the time of the harness.
   */
  seconds: Took & { total: number };
  /** The exit code of `rgx bench`: 1 if answers are missing, else 0. */
  exitCode: number;
}

/**
 * Asks models the held-out problems of tasks, and scores their answers as training does.
 * @throws UsageError, before any work, for models or tasks that cannot be measured; RgxError when
 *   an endpoint is not reachable; Interrupted when it was ended early: the answers are kept for
 *   `resume`
 */
export async function benchmark(options: BenchmarkOptions): Promise<Benchmark> {
  const path = options.outputDir ?? FOLDER;
  return await withPermissions(
    "benchmark",
    [{ name: "env" }, { name: "read", path }, { name: "write", path }],
    () => measure(options),
  );
}

async function measure(options: BenchmarkOptions): Promise<Benchmark> {
  const start = performance.now(), { seed = 42, ranks = ALONE, workers = null } = options;
  let prepared!: Prepared;
  await ranks.each(async () => {
    prepared = await prepare(options);
  });
  const { run, store, server, sampling } = prepared;
  // When answers cannot be stored, no more are asked for.
  const shouldStop = () =>
    store.failure !== null || options.signal?.aborted ||
    (options.shouldStop?.() ?? false);
  try {
    const isRemote = (job: Job) => job.model.where.kind === "remote";
    const jobs = options.merge ? [] : run.jobs, local = jobs.filter((job) => !isRemote(job));
    const remote = jobs.filter(isRemote);
    const here = async () => {
      await runJobs(
        remote,
        { open: (model) => Promise.resolve(new RemoteModel(server!, model)), close: () => {} },
        run.listener(workers?.devices.length ?? ranks.size - 1, missingSamples(remote)),
        shouldStop,
      );
    };
    const listener = (worker: number, total: number) => run.listener(worker, total);
    if (ranks.size === 1 && workers === null) {
      const total = missingSamples(local);
      await runJobs(local, new LocalModels(options.device!), listener(0, total), shouldStop);
      await here();
    } else {
      const plan = { jobs: local, listener, isKept: run.resumed > 0 };
      const elsewhere = workers === null
        ? runOnRanks(ranks, plan, new LocalModels(options.device!), shouldStop)
        : runWorkers(local, workers, listener, shouldStop);
      // Local and remote models must have ended before the store is closed.
      const failed = (await Promise.allSettled([elsewhere, here()]))
        .find(({ status }) => status === "rejected");
      if (failed !== undefined) throw (failed as PromiseRejectedResult).reason;
    }
    if (shouldStop() && run.answered < run.total) throw new Interrupted();
    const result = await run.result(store.stamp, seed, options.samplingSeed ?? seed, sampling);
    const remoteUsage = server?.usage() ?? null;
    if (remoteUsage !== null) result.remote = remoteUsage;
    run.warnOfGaps(result);
    run.warnOfUnread(result);
    const { outputDir = FOLDER, shard = null } = options;
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

/**
 * The work of all ranks except the first in a benchmark of several ranks: answers the questions
 * that the first rank deals out.
 * @throws Interrupted when a rank was asked to stop
 */
export async function assistBenchmark(
  { ranks, device, shouldStop = () => false }:
    & Required<Pick<BenchmarkOptions, "ranks" | "device">>
    & Pick<BenchmarkOptions, "shouldStop">,
): Promise<void> {
  await ranks.each(() => {}); // the first rank prepares
  await runOnRanks(ranks, null, new LocalModels(device), shouldStop);
}

/** The default of `outputDir`. */
const FOLDER = "benchmark_results";

/** Everything that is prepared before the first question. */
interface Prepared {
  run: BenchmarkRun;
  store: SampleStore;
  /** null: nothing is asked of a server. */
  server: RemoteServer | null;
  sampling: Sampling;
}

/** Plans a benchmark, refuses models and tasks that cannot be measured, and opens the folder. */
async function prepare(options: BenchmarkOptions): Promise<Prepared> {
  const { outputDir = FOLDER, seed = 42, onEvent = () => {} } = options;
  const { models, sampling, warnings } = await planModels(options.models, {
    ...options,
    seed: options.samplingSeed ?? seed,
    remote: {
      address: options.models.some(isRemoteName) ? whoAnswers(options.remote ?? {}) : "",
      format: options.remote?.completions ? "plain" : "chat",
    },
    includeBase: options.includeBase ?? true,
  });
  const runs = models.flatMap(({ run }) => run ?? []);
  const sets = await planTasks(options, seed, runs);
  // Environments judge problems that have no answer.
  const isJudged = models.some(({ settings: { dialogues } }) =>
    dialogues !== undefined && (dialogues.environment ?? dialogues.environments) !== null
  );
  const unanswerable = isJudged ? [] : withoutAnswers(sets);
  const isRemote = (model: ModelRequest) => model.where.kind === "remote";
  const merge = options.merge ?? false, shard = options.shard ?? null;
  if (!merge && options.device === undefined && !options.workers && !models.every(isRemote)) {
    throw new UsageError("benchmark: models of this machine need a device or workers", {
      advice: 'Give it device: await createDevice("auto"), and close the device at the end.',
    });
  }
  const resume = merge || (options.resume ?? false);
  const connect = () => RemoteServer.connect(options.remote ?? {}, outputDir);
  // A resume connects later, since it may find that nothing is left to ask.
  let server = !resume && models.some(isRemote) ? await connect() : null;
  const notes = [
    ...warnings,
    ...fewerThanAsked(options, sets),
    ...rowsLeftOut(sets),
    ...unanswerable,
    ...fewCategories(sets),
    ...trainedOtherwise(models, sets),
  ];
  for (const message of notes) {
    onEvent({ type: "warning", message });
  }
  // The part is in the file's name, since parts may begin in the same second.
  const part = shard === null ? "" : `_part-${shard.index}-of-${shard.count}`;
  const store = await SampleStore.open(outputDir, { part, resume });
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
    if (!merge && run.jobs.some(({ model }) => isRemote(model))) server ??= await connect();
    return { run, store, server, sampling };
  } catch (error) {
    server?.close();
    store.close();
    throw error;
  }
}

function nothingToMerge(folder: string): RgxError {
  return new RgxError(`${folder} holds no answers of these models to these tasks`, {
    advice: "A merge takes the settings of the parts: the same seed, sampling, prompts and server.",
  });
}

// Notes for checkpoints whose test has other parameters than their training. The user may want
// this, but should know it.

/**
 * A note for each task whose parameters are not among those that the run trained with. Models with
 * the same note share it; runs with a curriculum get none, since their levels move.
 */
export function trainedOtherwise(
  models: readonly { name: string; run: RunConfig | null }[],
  sets: readonly TestSet[],
): string[] {
  const namesOf = new Map<string, string[]>();
  for (const { name, run } of models) {
    for (const note of differencesOf(run, sets)) {
      namesOf.set(note, [...namesOf.get(note) ?? [], name]);
    }
  }
  return [...namesOf].map(([note, [first, ...more]]) => {
    const others = more.length === 1 ? "1 more model" : `${more.length} more models`;
    return `${first} ${more.length === 0 ? "was" : `and ${others} were`} ${note}`;
  });
}

function differencesOf(run: RunConfig | null, sets: readonly TestSet[]): string[] {
  if (run === null || run.curriculum !== null) return [];
  const { tasks, task_name, task_config } = run.data;
  const trained = tasks ?? (task_name === null ? [] : [{ task_name, config: task_config }]);
  // Problems of a file have no parameters.
  return sets.filter(({ taskName }) => hasTask(taskName)).flatMap((set) => {
    const ways = trained.filter(({ task_name }) => task_name === set.taskName)
      .map(({ config }) => difference(set, config));
    const others = ways.filter((way) => way !== null);
    return others.length < ways.length ? [] : others;
  });
}

function difference(
  { label, taskName, parameters }: TestSet,
  config: Readonly<Record<string, unknown>>,
): string | null {
  const trained = resolveTaskConfig(taskName, config);
  const asked = resolveTaskConfig(taskName, parameters);
  const changed = Object.keys(trained).filter((key) =>
    JSON.stringify(trained[key]) !== JSON.stringify(asked[key])
  );
  if (changed.length === 0) return null;
  const list = (values: Readonly<Record<string, unknown>>) =>
    changed.map((key) => `${key}=${JSON.stringify(values[key])}`).join(", ");
  return `trained on ${label} with ${list(trained)}, and asked with ${list(asked)}`;
}
