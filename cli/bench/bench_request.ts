/** The benchmark that the flags of `rgx bench` and `rgx eval`, and their file, describe. */
import { resolve } from "node:path";
import type { BenchmarkOptions } from "../../bench/benchmark.ts";
import type { Shard } from "../../bench/benchmark_run.ts";
import {
  type ChosenTasks,
  type EvalDescription,
  readEvalConfig,
} from "../../bench/eval_command/eval_config.ts";
import { isTask, type TaskRequest } from "../../bench/plan/test_set.ts";
import type { Sampling } from "../../bench/results/result_file.ts";
import type { WorkerOptions } from "../../bench/workers/worker_pool.ts";
import { UsageError } from "../../core/errors.ts";
import { exists, folderOf, isFile } from "../../core/paths.ts";
import { codeHash, isCodePath } from "../../core/sandbox/code_file.ts";
import { programCommand } from "../../core/program_command.ts";
import { isRemoteName } from "../../core/remote/model_names.ts";
import { didYouMean } from "../../core/suggest.ts";
import { DATASET_NAMES } from "../../data/dataset_entries.ts";
import { entryRows } from "../../data/entry_rows.ts";
import { readRows } from "../../data/read_rows.ts";
import type { PromptSettings } from "../../bench/evaluation/prompt_settings.ts";
import { isTable } from "../../hub/choose_files.ts";
import { defaultThreads } from "../../kernels/devices/wasm/threads.ts";
import { listCards } from "../../kernels/devices/webgpu/cards.ts";
import { visibleCards } from "../../kernels/devices/webgpu/visible.ts";
import { DEVICE_NAMES, isDeviceName } from "../../kernels/mod.ts";
import { sectionGiven } from "../env/which_environment.ts";
import { BUILT_IN, type EnvironmentSection } from "../../rewards/environments/open_environments.ts";
import { taskNameOf } from "../../tasks/custom/task_file.ts";
import { getTask, hasTask } from "../../tasks/registry.ts";
import { type FlagsOf, given, pick, templateValues } from "../flags.ts";
import { parseDuration } from "../stop_control.ts";
import { readTaskParams, type TaskParamOptions } from "../tasks/task_params.ts";

export type BenchFlags = FlagsOf<"BENCH">;

export interface BenchRequest {
  options: BenchmarkOptions;
  /** The file; null = flags only. */
  described: EvalDescription | null;
  shard: Shard | null;
  workers: WorkerOptions | null;
  isLocal: boolean;
  maxSeconds: number | null;
}

/** @param ranks ranks that share the models */
export async function benchRequest(flags: BenchFlags, ranks: number): Promise<BenchRequest> {
  if (flags.table !== undefined && flags.table !== "markdown" && flags.table !== "csv") {
    throw new UsageError(`--table ${flags.table}: expected markdown or csv`);
  }
  if (flags.category !== undefined && flags.config === undefined) {
    throw new UsageError("--category: without --config there is no file to choose from");
  }
  const maxSeconds = flags.maxTime === undefined ? null : parseDuration(flags.maxTime);
  const shard = shardOf(flags);
  const tasks = await Promise.all(flags.tasks.map(taskNameOf));
  const described = flags.config === undefined ? null : await readFile(flags.config, flags);
  const from = described?.options ?? { models: [], tasks: [] };
  const merged = { ...merge(from, { ...flags, tasks }), ...await dialoguesOf(from, flags) };
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
  const isAsked = options.tasks.length > 0 || options.dialogues?.environment != null;
  if (flags.merge && (options.models.length === 0 || !isAsked)) {
    throw new UsageError("--merge: the models and tasks of the parts are to be named", {
      advice: "The command of the parts, with --merge in place of --shard.",
    });
  }
  if (ranks > 1) refuseForRanks(flags, options.models, ranks);
  const workers = flags.merge ? null : workersOf(flags, options.models);
  const isLocal = !options.models.every(isRemoteName);
  if (flags.batchSize !== undefined && !isLocal && options.models.length > 0) {
    throw new UsageError("--batch-size: no model runs on this machine", {
      advice: "--workers says how many requests a server gets at once.",
    });
  }
  return { options, described, shard, workers, isLocal, maxSeconds };
}

/** The evaluation file, with the categories and the reports of the command line. */
async function readFile(path: string, flags: BenchFlags): Promise<EvalDescription> {
  const { category, tasks, saveMetadata, fullResults } = flags;
  if (category !== undefined && tasks.length > 0) {
    throw new UsageError("--category and --tasks: --tasks takes the place of the file's tasks", {
      advice: "--category chooses among the file's tasks: leave one of the two out.",
    });
  }
  const chosen = given<ChosenTasks>({ tasksElsewhere: tasks.length > 0, category });
  const described = await readEvalConfig(path, chosen);
  return {
    ...described,
    saveMetadata: saveMetadata ?? described.saveMetadata,
    saveFullResults: fullResults ?? described.saveFullResults,
  };
}

/** @throws UsageError for flags that choose other models or workers, and if ranks have no work */
function refuseForRanks(flags: BenchFlags, models: readonly string[], ranks: number): void {
  const one = "Start one process, without --ranks, mpirun or srun.";
  if (flags.merge) {
    throw new UsageError(`--merge: asks nothing, so ${ranks} ranks have no work`, { advice: one });
  }
  if (models.length > 0 && models.every(isRemoteName)) {
    throw new UsageError(`${ranks} ranks: no model runs on this machine, so they have no work`, {
      advice: `${one} --workers says how many requests a server gets at once.`,
    });
  }
  const local = models.some((name) => !isRemoteName(name)) && !models.some(isRemoteName);
  const flag = flags.devices !== undefined
    ? "--devices"
    : local && flags.workers !== undefined
    ? "--workers"
    : null;
  if (flag === null) return;
  throw new UsageError(`${flag}: not with ${ranks} ranks, each of which has one device`, {
    advice: "Leave it out: ranks take the cards of their node, or shares of its cores.",
  });
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

function merge(from: BenchmarkOptions, flags: BenchFlags): BenchmarkOptions {
  const sampling = given<Partial<Sampling>>({
    temperature: flags.temperature,
    top_p: flags.topP,
    top_k: flags.topK,
    min_p: flags.minP,
    repetition_penalty: flags.repetitionPenalty,
    activations: flags.activations,
    kv_cache_dtype: flags.kvCacheDtype,
    compute_dtype: flags.computeDtype,
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
    ...pick(flags, "numExamples", "limit", "batchSize", "seed", "samplingSeed", "outputDir"),
    models: flags.models.length > 0 ? flags.models : from.models,
    tasks: flags.tasks.length > 0 || set.length + setLevel.length > 0 || flags.level !== undefined
      ? readTasks(flags.tasks, { set, setLevel, ...given({ level: flags.level }) })
      : withoutOverridden(from.tasks, flags),
    sampling: { ...from.sampling, ...sampling },
    prompt: { ...from.prompt, ...prompt },
    includeBase: flags.base ?? false,
    resume: flags.resume ?? false,
    merge: flags.merge ?? false,
    remote: { ...from.remote, ...remote },
  };
}

async function dialoguesOf(
  { dialogues }: BenchmarkOptions,
  { environment, tools = [], maxTurns, allowCommands }: BenchFlags,
): Promise<Pick<BenchmarkOptions, "dialogues">> {
  if (environment === false) {
    const flag = tools.length > 0 ? "--tools" : maxTurns !== undefined ? "--max-turns" : null;
    if (flag === null) return { dialogues: null };
    throw new UsageError(`${flag} and --no-environment: one answer has no turns, leave one out`);
  }
  const asked = {
    ...dialogues,
    ...(environment !== undefined && {
      environments: null,
      environment: isCodePath(environment)
        ? await codeFile(environment)
        : sectionGiven(environment) ?? { name: builtIn(environment) },
    }),
    ...(tools.length > 0 && {
      tools: await Promise.all(tools.map((tool) => sectionGiven(tool) ?? codeFile(tool))),
    }),
    ...(allowCommands && { allow_commands: true }),
    ...(maxTurns !== undefined && {
      limits: { ...dialogues?.limits, max_assistant_turns: maxTurns },
    }),
  };
  return Object.keys(asked).length === 0 ? {} : { dialogues: asked };
}

async function codeFile(path: string): Promise<EnvironmentSection> {
  return { path, sha256: await codeHash(path, "environment") };
}

function builtIn(name: string): string {
  if (BUILT_IN.includes(name)) return name;
  throw new UsageError(`--environment ${name}: no such environment${didYouMean(name, BUILT_IN)}`, {
    advice: `Name a file ending in .ts or .py, an address, or ${BUILT_IN.join(", ")}.`,
  });
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
  const numbers = (named ?? []).flatMap((name) =>
    /^(?:webgpu|vulkan):(\d+)$/.exec(name)?.[1] ?? []
  );
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

/** One request for each task of each file, with all of its entries, or `maxEntries` of them. */
export async function readEntryRequests(
  paths: readonly string[],
  maxEntries = Infinity,
): Promise<TaskRequest[]> {
  const requests: TaskRequest[] = [];
  for (const path of paths) {
    const byTask = Map.groupBy(entryRows(await readRows([path])), ({ task }) => task);
    if (byTask.size === 0) throw new UsageError(`--entries ${path}: there are no entries`);
    for (const [task, rows] of byTask) {
      requests.push({
        name: "file",
        label: task,
        path,
        entriesOf: task,
        size: Math.min(rows.length, maxEntries),
        category: hasTask(task) ? getTask(task).category : null,
      });
    }
  }
  return requests;
}

export function readTasks(texts: readonly string[], params: TaskParamOptions): TaskRequest[] {
  const requests = withPlaces(texts.flatMap(requestsOf));
  const names = requests.map(({ name }) => name).filter(hasTask);
  // Unknown tasks are reported by the benchmark, all of them together.
  const areTasks = requests.every(({ name }) => isTask(name));
  const flags = areTasks ? [...params.set, ...params.setLevel] : [];
  for (const text of flags) {
    if (names.length === 1 || names.some((name) => text.startsWith(`${name}.`))) continue;
    throw new UsageError(
      names.length === 0
        ? `${text}: no task that has parameters is named`
        : `${text}: of several tasks, say which: ${names[0]}.${text}`,
    );
  }
  const { level } = params;
  const hasLevels = (name: string) => getTask(name).curriculum !== undefined;
  // For a single task this error is reported with its parameters.
  if (areTasks && level !== undefined && names.length !== 1 && !names.some(hasLevels)) {
    throw new UsageError(`--level ${level}: no task that has levels is named`);
  }
  return requests.map((request) => {
    const { name } = request;
    if (!hasTask(name)) return request;
    const parameters = readTaskParams(getTask(name), params, names.length > 1);
    return Object.keys(parameters).length === 0 ? request : { ...request, parameters };
  });
}

/** Adds the folders to the labels of files that have the same name. */
function withPlaces(requests: readonly TaskRequest[]): TaskRequest[] {
  return requests.map((request) => {
    const { path, label } = request;
    const isAlone = requests.every((other) => other.label !== label || other.path === path);
    return label === undefined || isAlone ? request : { ...request, label: withoutEnding(path!) };
  });
}

const withoutEnding = (path: string) => path.replace(/\.[a-z]+$/, "");

/** Parses `name`, `a,b`, `gsm8k=PATH`, or a file of problems. */
function requestsOf(text: string): TaskRequest[] {
  const [, name, path] = /^([A-Za-z0-9_-]+)=(.+)$/.exec(text) ?? [];
  if (name !== undefined) {
    if (DATASET_NAMES.includes(name)) return [{ name, path: path! }];
    throw new UsageError(
      `--tasks ${text}: only a data set has a path: ${DATASET_NAMES.join(", ")}` +
        didYouMean(name.toLowerCase().replace("-", ""), DATASET_NAMES),
    );
  }
  if (/\.(?:jsonl?|parquet)$/.test(text) || isTable(text)) {
    const label = withoutEnding(text.replace(/^.*\//, ""));
    return [{ name: "file", path: text, label }];
  }
  return text.split(",").filter((part) => part !== "").map((part) => ({ name: part }));
}
