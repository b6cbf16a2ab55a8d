/**
 * Models × tasks. The same problems, prompts, extraction and scoring as in training (data/), every sample on disk
 * as soon as it is there, results in the files of result_file.ts. Nothing is printed here.
 */
import { EXIT, Interrupted, RgxError, UsageError } from "../core/errors.ts";
import { VERSION } from "../core/version.ts";
import { writeResults } from "./benchmark_files.ts";
import { scoreCompletion } from "../data/score.ts";
import { LocalModel, type ModelDevice } from "./local_model.ts";
import { type Asked, planModels, type PlannedModel } from "./model_plan.ts";
import { OverlapCounter } from "./overlap.ts";
import { type RemoteOptions, RemoteServer, type RemoteUsage } from "./remote/server.ts";
import {
  type AllTasksResultFile,
  RESULT_FORMAT,
  type SampleResult,
  type Sampling,
  type TaskResults,
} from "./result_file.ts";
import { type Job, type JobListener, runJobs } from "./run_jobs.ts";
import { combinationKey, SampleStore } from "./sample_store.ts";
import { averages, compareModels, summarize } from "./summarize.ts";
import type {
  BenchEvent,
  ModelRequest,
  RawAnswer,
  SampleLine,
  TaskRequest,
  TestSet,
} from "./types.ts";
import { planTasks } from "./task_plan.ts";
import { runWorkers, type WorkerOptions } from "./worker_pool.ts";

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

export interface Shard {
  /** From 0 to count − 1. */
  index: number;
  count: number;
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
  exitCode: number;
}

/**
 * Asks models the held-out problems of tasks and scores their answers as training does.
 * @throws UsageError before any work for what cannot be measured; RgxError when an endpoint is not reachable;
 *   Interrupted when `shouldStop` said so: what is answered stays, and `resume` goes on
 */
export async function benchmark(options: BenchmarkOptions): Promise<Benchmark> {
  const { outputDir = "benchmark_results", seed = 42, onEvent = () => {} } = options;
  const shouldStop = options.shouldStop ?? (() => false);
  const sets = await planTasks(options, seed);
  const { models, sampling, warnings } = await planModels(options.models, {
    seed: options.samplingSeed ?? seed,
    remote: {
      address: options.remote?.baseUrl ?? Deno.env.get("OPENAI_BASE_URL") ?? "",
      format: options.remote?.completions ? "plain" : "chat",
    },
    includeBase: options.includeBase ?? true,
    ...(options.sampling && { sampling: options.sampling }),
    ...(options.prompt && { prompt: options.prompt }),
    ...(options.systemPrompts && { systemPrompts: options.systemPrompts }),
  });
  const isRemote = (model: ModelRequest) => model.where.kind === "remote";
  const merge = options.merge ?? false, shard = options.shard ?? null;
  if (!merge && options.device === undefined && !options.workers && !models.every(isRemote)) {
    throw new UsageError("benchmark: models of this machine need a device or workers");
  }
  const server = !merge && models.some(isRemote)
    ? await RemoteServer.connect(options.remote ?? {}, outputDir)
    : null;
  for (const message of warnings) onEvent({ type: "warning", message });
  const stamp = await freeStamp(outputDir);
  const resume = merge || (options.resume ?? false);
  // Parts may begin in the same second.
  const part = shard === null ? "" : `_part-${shard.index}-of-${shard.count}`;
  const store = await SampleStore.open(outputDir, `samples_${stamp}${part}.jsonl`, { resume });
  try {
    const run = new Run(models, sets, shard, store, sampling.samples, onEvent);
    onEvent({
      type: "plan",
      models: models.map(({ name }) => name),
      tasks: sets.map(({ label }) => label),
      combinations: run.combinations.length,
      samples: run.total,
    });
    if (merge && run.resumed === 0) throw nothingToMerge(outputDir);
    if (run.resumed > 0) onEvent({ type: "resumed", samples: run.resumed });
    const jobs = merge ? [] : run.jobs(), local = jobs.filter((job) => !isRemote(job.model));
    const remote = jobs.filter((job) => isRemote(job.model));
    const workers = options.workers ?? null;
    const here = async () => {
      await runJobs(
        remote,
        (model) => Promise.resolve(server!.model(model)),
        run.listener(workers === null ? 0 : workers.devices.length, samplesOf(remote)),
        shouldStop,
      );
    };
    if (workers === null) {
      await runJobs(
        local,
        (model) => LocalModel.open(model, options.device!),
        run.listener(0, samplesOf(local)),
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
    const result = await run.result(stamp, seed, options.samplingSeed ?? seed, sampling);
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
      exitCode: unanswered > 0 || result.failures.length > 0 ? EXIT.failure : EXIT.ok,
    };
  } finally {
    store.close();
    server?.close();
  }
}

function nothingToMerge(folder: string): RgxError {
  return new RgxError(`${folder} holds no answers of these models to these tasks`, {
    advice: "A merge takes the settings of the parts: the same seed, sampling and prompts.",
  });
}

/** Local time as in file names; never one that the folder has already. */
async function freeStamp(folder: string): Promise<string> {
  const taken: string[] = [];
  try {
    for await (const { name } of Deno.readDir(folder)) taken.push(name);
  } catch {
    // no folder yet
  }
  for (let at = Date.now();; at += 1000) {
    const d = new Date(at), two = (n: number) => String(n).padStart(2, "0");
    const stamp = `${d.getFullYear()}${two(d.getMonth() + 1)}${two(d.getDate())}_` +
      `${two(d.getHours())}${two(d.getMinutes())}${two(d.getSeconds())}`;
    if (!taken.some((name) => name.includes(stamp))) return stamp;
  }
}

/** One benchmark under way: who has answered what. */
class Run {
  readonly total: number;
  readonly resumed: number;
  /** Task by task, so that dealing them out spreads the models. */
  readonly combinations: readonly { model: PlannedModel; set: TestSet }[];
  evaluated = 0;
  errors = 0;
  readonly #keys = new Map<string, string>();
  readonly #failures: AllTasksResultFile["failures"] = [];
  /** Of asking a model in this call. */
  readonly #seconds = new Map<string, number>();

  constructor(
    readonly models: readonly PlannedModel[],
    readonly sets: readonly TestSet[],
    shard: Shard | null,
    readonly store: SampleStore,
    readonly samples: number,
    readonly emit: (event: BenchEvent) => void,
  ) {
    for (const model of models) {
      for (const set of sets) this.#keys.set(id(model, set), combinationKey(model, set));
    }
    this.combinations = sets.flatMap((set) => models.map((model) => ({ model, set })))
      .filter((_, i) => shard === null || i % shard.count === shard.index);
    this.total = samples * this.combinations.reduce((sum, { set }) => sum + set.entries.length, 0);
    this.resumed = this.total - this.#missing();
  }

  get answered(): number {
    return this.total - this.#missing();
  }

  /** Combinations that lack samples. */
  jobs(): Job[] {
    return this.combinations.map(({ model, set }) => this.#job(model, set))
      .filter(({ missing }) => missing.length > 0);
  }

  /** @param total samples that the worker will answer */
  listener(worker: number, total: number): JobListener {
    let done = 0;
    return {
      loading: ({ name }) => this.emit({ type: "loading", worker, model: name }),
      answer: (job, index, sample, raw) => {
        this.#add(job, index, sample, raw);
        this.emit({ type: "progress", worker, model: job.model.name, done: ++done, total });
      },
      failed: ({ model, set }, error) => {
        this.#failures.push({ model: model.name, task: set.label, error });
        this.emit({ type: "failed", model: model.name, task: set.label, error });
      },
      finished: ({ name }, seconds) => {
        this.#seconds.set(name, (this.#seconds.get(name) ?? 0) + seconds);
      },
    };
  }

  async result(
    stamp: string,
    seed: number,
    samplingSeed: number,
    sampling: Sampling,
  ): Promise<AllTasksResultFile> {
    const overlap = new OverlapCounter();
    const bases = new Set(this.models.filter(({ isBase }) => isBase).map(({ name }) => name));
    const tasks: Record<string, TaskResults> = {};
    for (const set of this.sets) {
      const models: TaskResults["models"] = {};
      for (const { model } of this.combinations.filter((one) => one.set === set)) {
        const lines = this.#lines(model, set);
        if (lines.length === 0) continue;
        models[model.name] = summarize(set, lines, {
          prompt: model.settings.prompt,
          device: [...new Set(lines.map(({ device }) => device))].join("; "),
          overlap: await overlap.count(model.run, set),
          seconds: (this.#seconds.get(model.name) ?? 0) * this.#shareOfTokens(model, lines),
        });
      }
      if (Object.keys(models).length === 0) continue;
      const { label: task, taskName: task_name, category, parameters, seed } = set;
      const comparisons = compareModels(task, models, (name) => bases.has(name));
      tasks[task] = { task, task_name, category, parameters, seed, models, comparisons };
    }
    return {
      format: RESULT_FORMAT,
      kind: "all_tasks",
      created: new Date().toISOString(),
      stamp,
      rgx_version: VERSION,
      deno_version: Deno.version.deno,
      seed,
      sampling_seed: samplingSeed,
      sampling,
      tasks,
      average: averages(tasks),
      parts: [],
      failures: this.#failures,
    };
  }

  /** A model that says nothing is measured, problems too long for it are counted, and the user is told. */
  warnOfGaps({ tasks }: AllTasksResultFile): void {
    for (const { task, models } of Object.values(tasks)) {
      for (const [model, { too_long: count, total, errors, examples }] of Object.entries(models)) {
        if (count === 0) continue;
        const { error } = examples.find((example) => example.too_long)!;
        const message = `${model} was not asked ${count} of ${count + total + errors} questions ` +
          `of ${task}: their prompts are too long for it (${error})`;
        this.emit({ type: "warning", message });
      }
    }
    for (const { name } of this.models) {
      const examples = Object.values(tasks).flatMap(({ models }) => models[name]?.examples ?? []);
      const asked = examples.filter(({ error }) => error === undefined);
      if (asked.length > 0 && asked.every(({ completion }) => completion.trim() === "")) {
        const message =
          `${name} answered none of ${asked.length} problems: every completion is empty`;
        this.emit({ type: "warning", message });
      }
    }
  }

  #add({ model, set }: Job, index: number, sample: number, raw: RawAnswer): void {
    const { prompt_tokens, device, ...answer } = raw, key = this.#keys.get(id(model, set))!;
    const { extracted, formatted, score, error } = scoreCompletion(
      raw.completion,
      set.entries[index]!,
    );
    if (error !== null) {
      this.emit({ type: "warning", message: `${set.label}, problem ${index}: ${error}` });
    }
    const result: SampleResult = {
      ...answer,
      extracted,
      ...(extracted !== null && !formatted ? { formatted } : {}),
      score: raw.error !== undefined || (set.binary && score < 1) ? 0 : score,
    };
    if (raw.error !== undefined && !raw.too_long) this.errors++;
    this.store.add({
      key,
      model: model.name,
      task: set.label,
      index,
      sample,
      prompt_tokens,
      device,
      result,
    });
    this.evaluated++;
  }

  #job(model: PlannedModel, set: TestSet): Job {
    const key = this.#keys.get(id(model, set))!;
    const missing = set.entries.flatMap((_, index) => {
      const samples = range(this.samples).filter((s) =>
        this.store.get(key, index, s) === undefined
      );
      return samples.length === 0 ? [] : [{ index, samples }];
    });
    return { model, set, missing };
  }

  #missing(): number {
    return this.combinations.flatMap(({ model, set }) => this.#job(model, set).missing)
      .reduce((sum, { samples }) => sum + samples.length, 0);
  }

  #lines(model: PlannedModel, set: TestSet) {
    const key = this.#keys.get(id(model, set))!;
    return set.entries.flatMap((_, index) =>
      range(this.samples).flatMap((sample) => this.store.get(key, index, sample) ?? [])
    );
  }

  #shareOfTokens(model: PlannedModel, lines: readonly SampleLine[]): number {
    const tokens = (some: readonly SampleLine[]) =>
      some.reduce((sum, { result }) => sum + result.completion_tokens, 0);
    const all = this.combinations.filter((one) => one.model === model)
      .reduce((sum, { set }) => sum + tokens(this.#lines(model, set)), 0);
    return all === 0 ? 0 : tokens(lines) / all;
  }
}

const id = (model: ModelRequest, set: TestSet) => JSON.stringify([model.name, set.label]);
const samplesOf = (jobs: readonly Job[]) =>
  jobs.reduce(
    (sum, { missing }) => sum + missing.reduce((n, { samples }) => n + samples.length, 0),
    0,
  );
const range = (count: number) => Array.from({ length: count }, (_, i) => i);
