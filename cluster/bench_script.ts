/**
 * Writes the job script of a benchmark. There are three kinds: an array job, whose elements share
 * the (model, task) combinations and have one GPU each, followed by a job that merges the results;
 * one job with all GPUs of a node; or one job with a rank for each GPU of several nodes. The models
 * and tasks are variables at the top of the script, which users can edit.
 */
import { resolve } from "node:path";
import { isRemoteName, namedModel } from "../core/remote/model_names.ts";
import { UsageError } from "../core/errors.ts";
import { gres, headerLines, type Job, type ProcessNeeds, withNeeds } from "./header.ts";
import {
  checkJobName,
  type CommonOptions,
  type JobScript,
  killedRank,
  needsCard,
  NO_REQUEUE,
  prepare,
} from "./job_script.ts";
import { megabytes, parseTimeLimit } from "../configs/types/slurm_values.ts";
import { requireScriptPath, shellWord, shellWords } from "./quote.ts";
import { ONE_PROCESS, ranksLaunch } from "./schedulers.ts";
import { expandParts, fillTemplate } from "./template.ts";
import arrayRoles from "./templates/bench_array.sh" with { type: "text" };
import template from "./templates/bench.sh" with { type: "text" };
import rankRoles from "./templates/bench_ranks.sh" with { type: "text" };
import nodeRoles from "./templates/bench_node.sh" with { type: "text" };

/**
 * `gpus` is the total number of GPUs; default 8. With `nodes` it is the number of GPUs and ranks on
 * each node; default 1. On another device it is the number of elements or processes.
 */
export interface BenchScriptOptions extends CommonOptions {
  /** The models that are measured: paths, names on the Hub, runs. */
  models: readonly string[];
  /** Names of tasks, or files of them. */
  tasks: readonly string[];
  /** Problems of each task; default: 100. */
  numExamples?: number;
  /** null = for each checkpoint the value with which it was trained. */
  maxNewTokens?: number | null;
  /** Folder of the results; default: `benchmark_results`. */
  outputDir?: string;
  /** One job with all GPUs instead of an array. */
  oneNode?: boolean;
  /** The value of `srun --mpi` of several ranks; default: the one that fits the MPI library. */
  mpi?: string;
  /** Maximum number of elements of the array that run in parallel. */
  maxParallel?: number;
  /** Additional flags of `rgx bench`, such as `--temperature 0.7`. */
  further?: readonly string[];
  /** The path at which the script will be stored, since the script submits itself. */
  script: string;
  /** A template in place of the built-in one; `name` is for messages. */
  template?: { name: string; text: string };
  /** The cores and the memory that a process needs. */
  needs?: ProcessNeeds;
}

export const BENCH_TEMPLATE = expandParts(template);

/** The resources of the job that merges results and draws charts: at most those of an element. */
function joinOptions({ gpus, cpus, memory, time }: Job): string {
  const hour = parseTimeLimit("01:00:00");
  return [
    ...(gpus === 0 ? [] : ["--gres=none"]),
    `--cpus-per-task=${Math.min(2, cpus)}`,
    `--mem=${memory !== "0" && megabytes(memory) > megabytes("8G") ? "8G" : memory}`,
    `--time=${time.seconds > hour.seconds ? hour.text : time.text}`,
  ].join(" ");
}

/** The cores and the memory that `count` processes on one node need. */
const forAll = ({ cpus, memory }: ProcessNeeds, count: number): ProcessNeeds => ({
  cpus: cpus * count,
  memory: memory * count,
});

const PROGRESS = `progress() { cat "$OUTPUT_DIR"/samples_*.jsonl 2>/dev/null | wc -c; }`;

const HOW = {
  array: "which starts an array of NUM_GPUS jobs, and one that joins their results and draws the " +
    "charts.",
  node: "which starts one job with NUM_GPUS graphics cards of one node.",
  ranks: "which starts one job with NUM_GPUS ranks on each of its nodes.",
};

const ROLES = { array: arrayRoles, node: nodeRoles, ranks: rankRoles };

/**
 * Makes the text of a script that runs a benchmark on the GPUs of a cluster; writes no file.
 * @throws UsageError for names, times and numbers that SLURM would not accept
 */
export async function benchScript(
  account: string,
  options: BenchScriptOptions,
): Promise<JobScript> {
  const { models, tasks, oneNode = false } = options;
  const kind = oneNode ? "node" : options.nodes !== undefined ? "ranks" : "array";
  if (models.length === 0) throw new UsageError("no model is named", { advice: "--models NAME …" });
  if (tasks.length === 0) throw new UsageError("no task is named", { advice: "--tasks NAME …" });
  const gpus = options.gpus ?? (kind === "ranks" ? 1 : 8);
  const jobName = checkJobName(options.jobName, "bench");
  const cards = needsCard(options.device) ? kind === "array" ? 1 : gpus : 0;
  const tasksPerNode = kind === "ranks" ? gpus : 1;
  const prepared = await prepare(account, { ...options, gpus: cards, tasksPerNode }, jobName);
  const { logs, notes, values, workDir } = prepared, { needs } = options;
  const job = needs === undefined
    ? prepared.job
    : withNeeds(prepared.job, options, kind === "node" ? forAll(needs, gpus) : needs);
  if (gpus < 1) throw new UsageError(`--gpus ${gpus}: expected at least 1`);
  if (oneNode && job.nodes > 1) {
    throw new UsageError(`--nodes ${job.nodes}: --one-node takes one node`, {
      advice: "Leave --one-node out: --nodes starts a rank for each card of each node.",
    });
  }
  if (kind === "ranks" && options.maxParallel !== undefined) {
    throw new UsageError(`--array %${options.maxParallel}: with --nodes there is no array`);
  }
  if (kind !== "ranks" && options.mpi !== undefined) {
    throw new UsageError(`--mpi ${options.mpi}: is for the ranks of --nodes`);
  }
  const launch = kind === "ranks"
    ? ranksLaunch(
      job.nodes,
      [`$((${job.nodes} * NUM_GPUS))`, '"$NUM_GPUS"'],
      options.mpi ?? null,
    )
    : ONE_PROCESS;
  const script = resolve(options.script);
  requireScriptPath(script, "--output");
  const array = kind !== "array" ? null : `0-${gpus - 1}${concurrencyLimit(options.maxParallel)}`;
  const header = headerLines(job, { jobName, log: logs, array });
  const names = await Promise.all(models.map((model) => modelOf(model, workDir)));
  for (const { name, exists } of names) {
    if (exists || !looksLikePath(name)) continue;
    notes.push(`the model ${name} does not exist yet (--dependency starts after its training)`);
  }
  const text = options.template?.text ?? template;
  const filled = fillTemplate(
    expandParts(
      text.replace(/\{\{ *roles *\}\}/, () => ROLES[kind].trimEnd()),
      job.requeue ? [] : ["requeue"],
    ),
    {
      ...values,
      ...launch,
      killed: kind === "ranks" && job.requeue ? killedRank('[ "$(progress)" -gt 0 ]') : "",
      requeue: NO_REQUEUE,
      progress: job.requeue ? PROGRESS : "",
      sbatch: header.join("\n"),
      how: HOW[kind],
      models: names.map(({ written }) => `  ${shellWord(written)}`).join("\n"),
      tasks: shellWords(await Promise.all(tasks.map((task) => taskName(task, workDir)))),
      num_examples: String(options.numExamples ?? 100),
      max_new_tokens: options.maxNewTokens == null ? "" : String(options.maxNewTokens),
      num_gpus: String(gpus),
      gpus: String(gpus),
      elements: `0-${gpus - 1}`,
      output_dir: shellWord(options.outputDir ?? "benchmark_results"),
      script: shellWord(script),
      further: [
        ...(options.device === undefined ? [] : ["--device", options.device]),
        ...options.further ?? [],
      ].map((word) => ` ${shellWord(word)}`).join(""),
      workers: options.device === undefined
        ? '--devices "$(seq -s, 0 $((NUM_GPUS - 1)))"'
        : '--workers "$NUM_GPUS"',
      limit: concurrencyLimit(options.maxParallel),
      join_options: joinOptions(job),
      gres: cards === 0 ? "" : `--gres=${gres({ ...job, gpus: 0 }).replace(/0$/, "")}"$NUM_GPUS" `,
    },
    options.template?.name ?? "the built-in template",
    ["sbatch", "models", "tasks"],
  );
  return { text: filled, jobName, logs, notes, submit: (path) => ["bash", path] };
}

const concurrencyLimit = (maxParallel?: number) =>
  maxParallel === undefined ? "" : `%${maxParallel}`;

/** A model whose place was found by `placeOf`; its own name stays before it. */
async function modelOf(text: string, workDir: string) {
  const { name, place } = namedModel(text), found = await placeOf(place, workDir);
  return { ...found, written: name === place ? found.name : `${name}=${found.name}` };
}

/** Finds a path from the job's folder, or else from the current folder, and makes this absolute. */
async function placeOf(name: string, workDir: string): Promise<{ name: string; exists: boolean }> {
  const isThere = (path: string) => Deno.stat(path).then(() => true, () => false);
  const here = resolve(name), there = resolve(workDir, name);
  if (await isThere(there)) return { name, exists: true };
  return await isThere(here) ? { name: here, exists: true } : { name, exists: false };
}

/** Whether a model's name is a path: names on the Hub have at most one slash. */
function looksLikePath(name: string): boolean {
  return !isRemoteName(name) && (/^[./~]|\.gguf$/.test(name) || name.split("/").length > 2);
}

/**
 * A task with the path of its data set, `gsm8k=test.jsonl` or `problems.jsonl`, found by `placeOf`.
 * @throws UsageError
 */
async function taskName(task: string, workDir: string): Promise<string> {
  const [, before = "", path] = /^([a-z0-9_]+=)?(.+)$/.exec(task) ?? [];
  if (path === undefined || (before === "" && !/\.jsonl?$/.test(path))) return task;
  const { name, exists } = await placeOf(path, workDir);
  if (!exists) throw new UsageError(`--tasks ${task}: there is no file ${path}`);
  return before + name;
}
