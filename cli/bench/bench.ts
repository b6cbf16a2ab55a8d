/**
 * `rgx bench` and `rgx eval`: turns flags into a benchmark and shows its progress and its table.
 */
import { resolve } from "node:path";
import { writeCharts } from "../../reports/charts/write_charts.ts";
import { type Benchmark, benchmark, type BenchmarkOptions } from "../../bench/benchmark.ts";
import type { Shard } from "../../bench/benchmark_run.ts";
import { exampleLines, withoutExamples } from "../../bench/results/benchmark_files.ts";
import { readEvalConfig } from "../../bench/eval_command/eval_config.ts";
import { writeEvalReports } from "../../bench/eval_command/eval_reports.ts";
import { isRemoteName } from "../../bench/plan/model_plan.ts";
import { samplesOf, type Sampling } from "../../bench/results/result_file.ts";
import type { RemoteUsage } from "../../core/remote/server.ts";
import type { WorkerOptions } from "../../bench/workers/worker_pool.ts";
import { writeFileAtomic } from "../../core/atomic_file.ts";
import { readEntryRequests } from "./bench_entries.ts";
import type { PromptSettings } from "../../evaluation/prompt_settings.ts";
import { Interrupted, UsageError } from "../../core/errors.ts";
import { exists, folderOf, isFile } from "../../core/paths.ts";
import { programCommand } from "../../core/program_command.ts";
import { secondsLeft } from "../../core/machine/slurm_queue.ts";
import type { ActivationType } from "../../models/network/types.ts";
import { DEVICE_NAMES, isDeviceName } from "../../kernels/mod.ts";
import { listCards } from "../../kernels/devices/webgpu/cards.ts";
import { visibleCards } from "../../kernels/devices/webgpu/visible.ts";
import { defaultThreads } from "../../kernels/devices/wasm/threads.ts";
import { BenchProgress } from "./bench_progress.ts";
import { csvTable, markdownTable, textReport } from "./bench_table.ts";
import { taskNameOf } from "../../tasks/custom/task_file.ts";
import { readTasks } from "./bench_tasks.ts";
import { given, templateValues } from "../flag_types.ts";
import { refuseOtherRanks } from "../ranks/one_process.ts";
import { openDevice } from "../open_device.ts";
import { listenForStop, parseDuration } from "../stop_control.ts";
import { log, print } from "../terminal/terminal.ts";

export interface BenchFlags {
  config?: string;
  models: string[];
  tasks: string[];
  set?: string[];
  level?: number;
  setLevel?: string[];
  numExamples?: number;
  limit?: number;
  outputDir?: string;
  seed?: number;
  samplingSeed?: number;
  temperature?: number;
  topP?: number;
  topK?: number;
  minP?: number;
  repetitionPenalty?: number;
  activations?: ActivationType;
  maxNewTokens?: number;
  samples?: number;
  batchSize?: number;
  stop: string[];
  system?: string;
  instructions?: boolean;
  entries?: string[];
  chatTemplateKwargs?: string;
  plain?: boolean;
  fewShot?: number;
  fewShotAs?: string;
  base: boolean;
  device?: string;
  devices?: string;
  threads?: number;
  workers?: number;
  baseUrl?: string;
  apiKeyEnv?: string;
  completionsEndpoint?: boolean;
  timeout?: number;
  retries?: number;
  retryDelay?: number;
  cache: boolean;
  priceIn?: number;
  priceOut?: number;
  resume?: boolean;
  merge?: boolean;
  shard?: string;
  maxTime?: string;
  samplesOut?: string;
  table?: string;
  charts: boolean;
  json?: boolean;
  quiet?: boolean;
}

/** Returns the exit code: 0 done, 1 something was not answered, 75 stopped and resumable. */
export async function bench(flags: BenchFlags): Promise<number> {
  if (flags.table !== undefined && flags.table !== "markdown" && flags.table !== "csv") {
    throw new UsageError(`--table ${flags.table}: expected markdown or csv`);
  }
  refuseOtherRanks();
  const maxSeconds = flags.maxTime === undefined ? null : parseDuration(flags.maxTime);
  const shard = shardOf(flags);
  const tasks = await Promise.all(flags.tasks.map(taskNameOf));
  const described = flags.config === undefined
    ? null
    : await readEvalConfig(flags.config, flags.tasks.length > 0);
  const merged = merge(described?.options ?? { models: [], tasks: [] }, { ...flags, tasks });
  const entries = await readEntryRequests(flags.entries ?? [], flags.numExamples);
  const options = { ...merged, tasks: [...merged.tasks, ...entries] };
  if (flags.samplesOut !== undefined) {
    await checkFolder(flags.samplesOut, options.outputDir ?? "benchmark_results");
  }
  if (described !== null && options.models.length === 0) {
    throw new UsageError(`${flags.config}: no model is named`, {
      advice: "model_path: FOLDER (or model: NAME of a remote one) in the file, or --models FOLDER",
    });
  }
  if (flags.merge && (options.models.length === 0 || options.tasks.length === 0)) {
    throw new UsageError("--merge: the models and tasks of the parts are to be named", {
      advice: "The command of the parts, with --merge in place of --shard.",
    });
  }
  const workers = flags.merge ? null : workersOf(flags, options.models);
  const isLocal = !options.models.every(isRemoteName);
  if (flags.batchSize !== undefined && !isLocal && options.models.length > 0) {
    throw new UsageError("--batch-size: no model runs on this machine", {
      advice: "--workers says how many requests a server gets at once.",
    });
  }
  const device = isLocal && workers === null && !flags.merge ? await openDevice(flags) : null;
  const stop = listenForStop(
    maxSeconds,
    "finishing what is under way; the samples so far are kept",
  );
  secondsLeft().then((left) => stop.jobEnds(left));
  stop.begin(); // every answer is stored when it arrives
  // A forward pass over many long prompts may take longer than a job has after its warning.
  if (device !== null) {
    device.beforeRun = () => {
      if (stop.stopRequested() !== "no") throw new Interrupted();
    };
  }
  const progress = new BenchProgress(flags.quiet ?? false);
  try {
    const done = await benchmark({
      ...options,
      ...(device === null ? {} : { device }),
      shard,
      workers,
      remote: { ...options.remote, onWarning: (message) => progress.warn(message) },
      shouldStop: () => stop.stopRequested() !== "no",
      onEvent: (event) => progress.on(event),
    });
    progress.close();
    let failure: unknown = null;
    const others: string[] = [];
    const add = async (work: Promise<string[]>) => {
      others.push(...await work.catch((error) => (failure ??= error, [])));
    };
    if (shard === null) {
      const folder = done.files.at(-1)!.replace(/\/[^/]*$/, "");
      if (described !== null) await add(writeEvalReports(done.result, described, folder));
      if (flags.charts) await add(writeCharts(folder, done.result));
    }
    if (flags.samplesOut !== undefined) await add(writeSamples(flags.samplesOut, done));
    // The table of one shard would look like a result.
    if (shard === null || flags.json) show(done, flags, others);
    else log(`part ${flags.shard}: ${done.evaluated} new samples, ${done.resumed} known`);
    // The numbers are printed before an error in drawing or writing is thrown.
    if (failure !== null) throw failure;
    return done.exitCode;
  } catch (error) {
    progress.close();
    if (!(error instanceof Interrupted)) throw error;
    throw new Interrupted(
      `stopped early (${stop.reason ?? "on request"}); what is answered is kept`,
      {
        advice: "The same command with --resume goes on where it was.",
      },
    );
  } finally {
    stop.ended();
    device?.close();
  }
}

/**
 * Checks before the work that the file can be written after it. The folder of the results need not
 * exist: it is made.
 */
async function checkFolder(path: string, outputDir: string): Promise<void> {
  const folder = folderOf(path);
  if (resolve(folder) === resolve(outputDir)) return;
  if (await exists(folder) && !await isFile(folder)) return;
  throw new UsageError(`--samples-out ${path}: there is no folder ${folder}`);
}

/** The shard of `0/8`, which is the first of eight; null without --shard. */
function shardOf({ shard, merge }: BenchFlags): Shard | null {
  if (shard === undefined) return null;
  const [, index, count] = /^(\d{1,6})\/(\d{1,6})$/.exec(shard) ?? [];
  if (index === undefined || Number(index) >= Number(count)) {
    throw new UsageError(`--shard ${shard}: expected I/N, from 0/N to N-1/N`, {
      advice: "For example --shard 0/8 to --shard 7/8, then --merge.",
    });
  }
  if (merge) throw new UsageError("--shard and --merge: a merge takes all parts, give one of them");
  return { index: Number(index), count: Number(count) };
}

/** The options of the file, overridden by the flags. */
function merge(from: BenchmarkOptions, flags: BenchFlags): BenchmarkOptions {
  const sampling = given<Partial<Sampling>>({
    temperature: flags.temperature,
    top_p: flags.topP,
    top_k: flags.topK,
    min_p: flags.minP,
    repetition_penalty: flags.repetitionPenalty,
    activations: flags.activations,
    max_new_tokens: flags.maxNewTokens,
    samples: flags.samples,
    stop: flags.stop.length > 0 ? flags.stop : undefined,
  });
  const { set = [], setLevel = [] } = flags;
  const shotsAs = flags.fewShotAs;
  if (shotsAs !== undefined && shotsAs !== "prompt" && shotsAs !== "turns") {
    throw new UsageError(`--few-shot-as ${shotsAs}: expected prompt or turns`);
  }
  const prompt = given<Partial<PromptSettings>>({
    system_prompt: flags.system === "" ? null : flags.system,
    add_instructions: flags.instructions,
    format: flags.plain ? "plain" as const : undefined,
    few_shot: flags.fewShot,
    few_shot_as: shotsAs,
    chat_template_kwargs: templateValues(flags.chatTemplateKwargs),
  });
  const { priceIn, priceOut } = flags;
  const remote = given({
    baseUrl: flags.baseUrl,
    apiKeyEnv: flags.apiKeyEnv,
    concurrency: flags.workers,
    timeout: flags.timeout,
    attempts: flags.retries,
    firstDelay: flags.retryDelay === undefined ? undefined : flags.retryDelay * 1000,
    completions: flags.completionsEndpoint,
    cache: flags.cache ? undefined : false as const,
    prices: priceIn === undefined && priceOut === undefined
      ? undefined
      : { input: priceIn ?? 0, output: priceOut ?? 0 },
  });
  return {
    ...from,
    ...given({
      numExamples: flags.numExamples,
      limit: flags.limit,
      batchSize: flags.batchSize,
      seed: flags.seed,
      samplingSeed: flags.samplingSeed,
      outputDir: flags.outputDir,
    }),
    models: flags.models.length > 0 ? flags.models : from.models,
    tasks: flags.tasks.length > 0 || set.length + setLevel.length > 0 || flags.level !== undefined
      ? readTasks(flags.tasks, { set, setLevel, ...given({ level: flags.level }) })
      : withoutOverridden(from.tasks, flags),
    sampling: { ...from.sampling, ...sampling },
    prompt: { ...from.prompt, ...prompt },
    includeBase: flags.base,
    resume: flags.resume ?? false,
    merge: flags.merge ?? false,
    remote: { ...from.remote, ...remote },
  };
}

/** The tasks of a file without the sizes and seeds that the command line sets for all tasks. */
function withoutOverridden(
  tasks: BenchmarkOptions["tasks"],
  { numExamples, seed }: BenchFlags,
): BenchmarkOptions["tasks"] {
  return tasks.map((task) => {
    if (typeof task === "string") return task;
    const { size, seed: written, ...rest } = task;
    return {
      ...rest,
      ...given({
        size: numExamples === undefined ? size : undefined,
        seed: seed === undefined ? written : undefined,
      }),
    };
  });
}

/** Worker processes for the models of this machine. Null: models run in this process. */
function workersOf(flags: BenchFlags, models: readonly string[]): WorkerOptions | null {
  const named = flags.devices?.split(",").map((text) => {
    const name = /^\d+$/.test(text.trim()) ? `webgpu:${text.trim()}` : text.trim();
    if (isDeviceName(name)) return name;
    throw new UsageError(
      `--devices ${flags.devices}: expected numbers of graphics cards, or ${
        DEVICE_NAMES.join(", ")
      }`,
    );
  });
  const numbers = (named ?? []).flatMap((name) => /^webgpu:(\d+)$/.exec(name)?.[1] ?? []);
  const cards = numbers.length === 0 ? 0 : visibleCards().cards?.length ?? listCards().length;
  const absent = numbers.find((card) => Number(card) >= cards);
  if (absent !== undefined) {
    throw new UsageError(
      `--devices ${flags.devices}: there is no card ${absent}, ${cards} are here`,
    );
  }
  const local = models.filter((name) => !isRemoteName(name)).length;
  // For remote models, --workers is the number of concurrent requests.
  const count = local < models.length ? named?.length ?? 1 : flags.workers ?? named?.length ?? 1;
  if (local === 0 || (count <= 1 && named === undefined)) return null;
  const devices = named ?? [flags.device ?? Deno.env.get("RGX_DEVICE") ?? "auto"];
  const all = Array.from({ length: Math.max(1, count) }, (_, i) => devices[i % devices.length]!);
  const share = Math.max(1, Math.floor(defaultThreads() / all.length));
  return { devices: all, threads: flags.threads ?? share, command: programCommand() };
}

async function writeSamples(path: string, { result }: Benchmark): Promise<string[]> {
  await writeFileAtomic(path, [...exampleLines(result), ""].join("\n"));
  return [path];
}

function show(done: Benchmark, flags: BenchFlags, others: string[]): void {
  const { result, files } = done, written = [...files, ...others];
  if (flags.json) {
    const { evaluated, resumed, unanswered, remote, seconds } = done;
    const tasks = withoutExamples(result.tasks), files = written;
    const counts = { evaluated, resumed, unanswered, remote, seconds, files };
    return print(JSON.stringify({ ...result, tasks, ...counts }));
  }
  if (flags.table === "markdown") print(markdownTable(result));
  else if (flags.table === "csv") print(csvTable(result));
  else {
    print(textReport(result));
    for (const path of written) print(path);
  }
  if (!flags.quiet) {
    const { resumed, evaluated } = done;
    if (resumed > 0) {
      log(`${resumed} ${resumed === 1 ? "sample was" : "samples were"} known, ${evaluated} new`);
    }
    if (done.remote !== null) log(remoteText(done.remote));
  }
  if (done.unanswered > 0) {
    const { unanswered } = done, why = firstError(result);
    log(
      `${unanswered} ${unanswered === 1 ? "sample has" : "samples have"} no answer` +
        `${why === null ? "" : ` (${why})`}; --resume asks for them again`,
    );
  }
}

/** The error of the first answer that failed, or null. */
function firstError({ tasks }: Benchmark["result"]): string | null {
  for (const { models } of Object.values(tasks)) {
    for (const { examples } of Object.values(models)) {
      const failed = examples.flatMap(samplesOf).find((one) => one.error && !one.too_long);
      if (failed !== undefined) return failed.error!;
    }
  }
  return null;
}

function remoteText(usage: RemoteUsage): string {
  const { prompt_tokens, completion_tokens, cost, requests, cached } = usage;
  const { seconds_per_request: each, tokens_per_second: speed } = usage;
  // Some servers report no numbers of tokens.
  const counted = each === null || prompt_tokens + completion_tokens > 0;
  const parts = [
    `remote: ${requests} ${requests === 1 ? "request" : "requests"}`,
    ...(cached > 0 ? [`${cached} answers from the cache`] : []),
    ...(counted
      ? [`${prompt_tokens} prompt tokens`, `${completion_tokens} new ones`]
      : ["tokens not counted by the server"]),
    ...(speed === null || !counted ? [] : [`${speed.toFixed(1)} tokens/s`]),
    ...(each === null ? [] : [`${each.toFixed(2)} s a request`]),
    ...(cost === null || !counted ? [] : [`cost ${cost.toFixed(4)}`]),
  ];
  return parts.join(", ");
}
