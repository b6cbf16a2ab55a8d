/** The job script of a training run, or of an array of runs with different values or seeds. */
import { dirname, isAbsolute, relative, resolve } from "node:path";
import { loadConfig, type LoadedConfig } from "../configs/load.ts";
import { askedPlaces, deviceOfConfig, placesText, type RankKeys } from "../configs/rank_layout.ts";
import { overrideArguments } from "../configs/reading/overrides.ts";
import type { RunConfig } from "../configs/schema/run_config.ts";
import { findSlurmSection, type FoundSection } from "../configs/slurm_section.ts";
import type { ConfigOverrides } from "../configs/config_object.ts";
import { UsageError } from "../core/errors.ts";
import { exists, fileName } from "../core/paths.ts";
import { type ArraySpec, parseArray, seedVariants, sweepVariants, type Variant } from "./array.ts";
import { checkJob, type Job, type ProcessNeeds, tooLittleMemory, withNeeds } from "./header.ts";
import {
  checkJobName,
  type CommonOptions,
  type JobScript,
  killedRank,
  needsCard,
  NO_REQUEUE,
  prepare,
} from "./job_script.ts";
import { requireScriptPath, shellWord, shellWords } from "./quote.ts";
import { expandParts, fillTemplate } from "./template.ts";
import { type Elements, type Scheduler, type SchedulerName, schedulerOf } from "./schedulers.ts";

/** The options of a training job. */
export interface TrainScriptOptions extends CommonOptions {
  /** Values that replace those of the configuration: `{ training: { max_steps: 10 } }`. */
  overrides?: ConfigOverrides;
  /** Overrides as arguments of a command line, `key.path=value`. They come after `overrides`. */
  args?: readonly string[];
  /** The job may run rewards in Python; default false. */
  allowPython?: boolean;
  /** `key=value,value`; every combination becomes an element of an array. */
  sweep?: readonly string[];
  /** Which elements run, and how many in parallel; without `sweep` they differ in their seed. */
  array?: string;
  /** The value of `srun --mpi` of several ranks; default: the one that fits the MPI library. */
  mpi?: string;
  /** Replaces the built-in template. */
  template?: { name: string; text: string };
  /** Environment variables for the configuration; default: those of this process. */
  env?: Readonly<Record<string, string>>;
  /**
   * Plans the runs, one for each element of an array. It throws for what prevents a run, and adds
   * notes to the list.
   */
  plan?: (
    runs: readonly RunConfig[],
    ranks: number,
    notes: string[],
  ) => Promise<ProcessNeeds | null>;
}

/** The template that is filled in for a scheduler. */
export function trainTemplate(scheduler?: SchedulerName): string {
  return expandParts(schedulerOf(scheduler).template);
}

/**
 * Makes the job script for `rgx train CONFIG`. The configuration is read and checked, for an array
 * with every combination. Options that are not named are those of its section `slurm`. No file is
 * written.
 * @param account null: that of the section, if it names one
 * @throws UsageError
 */
export async function slurmScript(
  config: string,
  account: string | null,
  options: TrainScriptOptions = {},
): Promise<JobScript> {
  const job = await jobOfConfig(config, account, options);
  return await trainScript(config, job.account, job.options);
}

/** A job, with the keys of its configuration. */
interface SectionedJob {
  /** Null: the scheduler's default is charged. */
  account: string | null;
  options: TrainScriptOptions;
  /** The path of the script, and the position of its key; null: the configuration names none. */
  output: { path: string; place: string } | null;
}

/**
 * The job of a configuration. The keys of its section `slurm` are defaults of the options.
 * @param account null: that of the section, if it names one
 * @throws UsageError when `slurm.work_dir` is no folder
 */
export async function jobOfConfig(
  config: string,
  account: string | null,
  options: TrainScriptOptions,
): Promise<SectionedJob> {
  const cwd = resolve(options.workDir ?? "."), path = await configPath(config, cwd);
  const env = { ...environmentOf(options), ...jobVariables("0") };
  const read = { overrides: overridesOf(options), env, cwd };
  const found = await findSlurmSection(path, read), section = found?.section;
  const charged = account ?? section?.account ?? null;
  if (found === null || section === undefined) return { account: charged, options, output: null };
  const { partition, time, gpus, gpu_type, cpus, memory, nodes, requeue } = section;
  const named = {
    partition,
    time,
    gpus,
    gpuType: gpu_type === "any" ? null : gpu_type,
    cpus,
    memory,
    nodes,
    requeue,
    workDir: options.workDir === undefined ? await workFolder(found) : null,
  };
  const written = (values: object) =>
    Object.fromEntries(Object.entries(values).filter(([, value]) => value != null));
  return {
    account: charged,
    options: { ...options, ...written(named), ...written(options) },
    output: section.output === null
      ? null
      : { path: section.output, place: `${found.placeOf("output")}: ` },
  };
}

const environmentOf = ({ env }: TrainScriptOptions) => env ?? Deno.env.toObject();

const overridesOf = (
  { overrides = {}, args = [] }: TrainScriptOptions,
) => [...overrideArguments(overrides), ...args];

/** The script of a job whose options are complete. @throws UsageError */
export async function trainScript(
  config: string,
  account: string | null,
  options: TrainScriptOptions,
): Promise<JobScript> {
  const { sweep = [] } = options, overrides = overridesOf(options);
  const stem = config.replace(/^rgx:/, "").replace(/^.*\//, "").replace(/\.(ya?ml|json)$/, "");
  // The options of the job are checked before the configuration is read.
  const { workDir, ...rest } = await prepare(
    account,
    { ...options, ...ranksOfNode(options) },
    checkJobName(options.jobName, stem),
  );
  const path = await configPath(config, workDir);
  const load = (more: readonly string[], id = "0") => {
    const env = { ...environmentOf(options), ...jobVariables(id) };
    return loadConfig(path, { overrides: [...overrides, ...more], env, cwd: workDir });
  };
  const base = await load([]), device = deviceOfConfig(base.config.training, options.device);
  if (device !== undefined) options = { ...options, device };
  // A run stores its configuration as config.yaml, which is no useful name for a job.
  const jobName = checkJobName(
    options.jobName,
    stem === "config" ? base.config.logging.run_name : stem,
  );
  const { logs, notes, values } = rest;
  const asked = withRankKeys(options, base.config.training);
  const { gpus, tasksPerNode } = ranksOfNode(asked);
  const request = { ...asked, gpus, tasksPerNode }, placed = checkJob(account, request);
  overrides.push(...rankOverrides(base.config.training, placed, notes));
  notes.push(...base.notes, ...idle(asked, gpus, tasksPerNode));
  const array = options.array === undefined ? null : parseArray(options.array);
  const variants = variantsOf(sweep, array, base.config.training.seed)
    .map((variant) => inOwnFolder(variant, base.config));
  const runs = variants.length === 0 ? [base.config] : [];
  for (const { overrides } of variants) runs.push((await load(overrides)).config);
  const needs = await options.plan?.(runs, placed.nodes * tasksPerNode, notes) ?? null;
  const job = needs === null ? placed : withNeeds(placed, options, needs);
  if (needs !== null) notes.push(...tooLittleMemory(job, needs));

  const binds = options.apptainer === undefined
    ? ""
    : bindLines(await foldersOutside(runs, workDir));

  // If the name of the run's folder depends on the job id, the script cannot read its progress.
  const { output_dir } = base.config.training;
  const isKnown = variants.length > 0 ||
    (await load([], "1")).config.training.output_dir === output_dir;

  const scheduler = schedulerOf(options.scheduler);
  const ranks = job.nodes * job.tasksPerNode;
  const name = options.template?.name ?? "the built-in template";
  const elements: Elements | null = variants.length === 0
    ? null
    : { indices: variants.map(({ index }) => index), atOnce: array?.maxParallel ?? null };
  const submit = (path: string) => scheduler.submit(path, { jobName, elements });
  const stored = options.script ?? resolve(defaultScript(jobName, options.scheduler));
  const progress = !isKnown
    ? unknownProgress(scheduler)
    : variants.length > 0
    ? PROGRESS
    : `${PROGRESS}\n${otherFolder(scheduler)}`;
  const script = fillTemplate(
    expandParts(
      options.template?.text ?? scheduler.template,
      job.requeue ? [] : ["requeue", "resubmit"],
    ),
    {
      ...values,
      environment: values["environment"] + binds,
      ...scheduler.values(job, stored),
      sbatch: scheduler.head(job, { jobName, log: logs, elements }).join("\n"),
      submit: submitText(submit(stored)),
      memo: shellWord(`${logs}/.${jobName}`),
      requeue: NO_REQUEUE,
      resubmit: NO_REQUEUE,
      progress: job.requeue ? progress : "",
      ...scheduler.launch(job, options.mpi ?? null),
      killed: ranks > 1 && job.requeue && isKnown ? killedRank('[ -e "$run/latest" ]') : "",
      run: runLines(base, variants, job.requeue && isKnown, {
        variable: scheduler.element,
        numbers: elements === null ? [] : scheduler.numbers(elements),
      }),
      config: shellWord(path),
      overrides: words([
        ...overrides,
        ...(options.device === undefined ? [] : ["--device", options.device]),
        ...(options.allowPython ? ["--allow-python"] : []),
      ]),
    },
    name,
    ["sbatch", "config", ...(ranks > 1 ? ["srun", "mpi"] : [])],
  );
  return { text: script, jobName, logs, notes, submit };
}

/**
 * The shell function that is used when the run folder is unknown. It counts restarts, so every
 * restart looks like progress. The program also limits the number of restarts without progress
 * (training/run/sessions.ts).
 */
const unknownProgress = ({ restarts }: Scheduler) => `progress() { ${restarts}; }`;

/** A shell function that prints the number of logged steps. Events in the log are not counted. */
const PROGRESS = `progress() { grep -vcs '"event"' "$run/metrics.jsonl"; }`;

/** Shell lines that use `unknownProgress` if the script's arguments may name another folder. */
const otherFolder = (scheduler: Scheduler) =>
  `case $* in *output[-_]dir* | *run_name*) ${unknownProgress(scheduler)} ;; esac`;

/** The name of a script that has no other. */
export function defaultScript(jobName: string, scheduler: SchedulerName = "slurm"): string {
  return `${scheduler}_${jobName}.sh`;
}

/** A command that submits a script, as a user types it. */
export function submitText([first, ...rest]: readonly string[]): string {
  const words = rest.filter((word) => word !== "--parsable");
  return first === "sh" ? words.at(-1)! : shellWords([first!, ...words]);
}

/** Values for the schedulers' variables, which a configuration may use, but which come later. */
const jobVariables = (id: string) => ({
  SLURM_JOB_ID: id,
  SLURM_ARRAY_JOB_ID: id,
  SLURM_ARRAY_TASK_ID: id,
  SLURM_JOB_NAME: "job",
  PBS_JOBID: id,
  PBS_ARRAY_INDEX: id,
  PBS_JOBNAME: "job",
  LSB_JOBID: id,
  LSB_JOBINDEX: id,
  LSB_JOBNAME: "job",
});

/** The absolute path of a configuration file; names of embedded configurations are unchanged. */
async function configPath(name: string, workDir: string): Promise<string> {
  if (name.startsWith("rgx:")) return name;
  for (const folder of [Deno.cwd(), workDir]) {
    const path = resolve(folder, name);
    if (await Deno.stat(path).then((found) => found.isFile, () => false)) {
      requireScriptPath(path, "CONFIG");
      return path;
    }
  }
  return name;
}

/**
 * Cards and ranks of a node. A rank has one card, or none.
 * @throws UsageError for more ranks than cards
 */
function ranksOfNode(
  { device, gpus = 1, tasksPerNode }: TrainScriptOptions,
): { gpus: number; tasksPerNode: number } {
  const cards = needsCard(device) ? gpus : 0, ranks = tasksPerNode ?? Math.max(1, cards);
  if (cards > 0 && ranks > cards) {
    throw new UsageError(
      `--ntasks-per-node ${ranks}: a rank has a graphics card of its own, and a node has ` +
        `--gpus ${cards}: rank ${cards} of the first node would have none`,
      { advice: `Ask for --gpus ${ranks}, or compute on the CPU with --device wasm.` },
    );
  }
  return { gpus: cards, tasksPerNode: ranks };
}

/** The nodes and cards: from the options, else from the configuration. */
function withRankKeys(options: TrainScriptOptions, training: RankKeys): TrainScriptOptions {
  const { nnodes, n_gpus_per_node: each } = training, { nodes = nnodes } = options;
  const onCards = needsCard(options.device);
  const isSet = each === null || options.tasksPerNode !== undefined ||
    (onCards && options.gpus !== undefined);
  return {
    ...options,
    ...(nodes === null ? {} : { nodes }),
    ...(isSet ? {} : onCards ? { gpus: each } : { tasksPerNode: each }),
  };
}

/** The keys that the script sets if the options ask for other ranks than the configuration. */
function rankOverrides(
  training: RankKeys,
  { nodes, tasksPerNode }: Pick<Job, "nodes" | "tasksPerNode">,
  notes: string[],
): string[] {
  const asked = askedPlaces(training);
  if (asked === null || (asked.nodes === nodes && asked.perNode === tasksPerNode)) return [];
  notes.push(
    `${placesText(asked)}; the job has ${nodes} × ${tasksPerNode} ranks, as its flags or ` +
      "section slurm say",
  );
  return [`training.nnodes=${nodes}`, `training.n_gpus_per_node=${tasksPerNode}`];
}

/** Notes about resources that the user asked for and the ranks would not use. */
function idle({ gpus = 0, device }: TrainScriptOptions, cards: number, ranks: number): string[] {
  if (!needsCard(device)) {
    return gpus === 0 || ranks >= gpus ? [] : [
      `--device ${device} uses no graphics card: the script asks for none ` +
      `(--ntasks-per-node ${gpus} starts as many ranks)`,
    ];
  }
  return cards > ranks
    ? [`a rank uses one graphics card: of --gpus ${cards}, ${cards - ranks} would be idle`]
    : [];
}

function variantsOf(sweep: readonly string[], array: ArraySpec | null, seed: number): Variant[] {
  if (sweep.length === 0) {
    if (array === null) return [];
    if (array.indices !== null) return seedVariants(array.indices, seed);
    throw new UsageError(`--array %${array.maxParallel}: expected numbers too, or --sweep`, {
      advice: "For example --array 0-4%2: the seeds of the configuration and four more.",
    });
  }
  const all = sweepVariants(sweep), indices = array?.indices ?? null;
  if (indices === null) return all;
  const beyond = indices.find((index) => index >= all.length);
  if (beyond === undefined) return all.filter(({ index }) => indices.includes(index));
  throw new UsageError(
    `--array: ${beyond} is no combination, --sweep makes ${all.length} (0 to ${all.length - 1})`,
  );
}

/** An element with a run of its own, whose name and folder begin with those of `base`. */
function inOwnFolder(variant: Variant, base: RunConfig): Variant {
  const name = fileName(`${base.logging.run_name}_${variant.label}`);
  return {
    ...variant,
    overrides: [
      ...variant.overrides,
      `logging.run_name=${JSON.stringify(name)}`,
      `training.output_dir=${JSON.stringify(`${folderOf(base)}_${variant.label}`)}`,
    ],
  };
}

const folderOf = ({ training }: RunConfig) => training.output_dir.replace(/(.)\/+$/, "$1");

/** Shell lines that set the run's folder, and for an array also the overrides of each element. */
function runLines(
  { config }: LoadedConfig,
  variants: readonly Variant[],
  requeue: boolean,
  { variable, numbers }: { variable: string; numbers: readonly number[] },
): string {
  const folder = folderOf(config);
  if (variants.length === 0) return requeue ? `run=${shellWord(folder)}` : "";
  const lines = variants.map(({ overrides, label }, i) => {
    const where = requeue ? `run=${shellWord(`${folder}_${label}`)} && ` : "";
    return `  ${numbers[i]}) ${where}set -- ${shellWords(overrides)} "$@" ;;`;
  });
  return [
    "# The overrides of each element of the array.",
    `case $${variable} in`,
    ...lines,
    `  *) echo "no element $${variable}" >&2 && exit 2 ;;`,
    "esac",
  ].join("\n");
}

const words = (list: readonly string[]) => list.map((word) => `${shellWord(word)} `).join("");

/** Folders outside of `workDir` that hold files which the configurations name, in their order. */
async function foldersOutside(
  configs: readonly RunConfig[],
  workDir: string,
): Promise<string[]> {
  const folders = new Set<string>();
  for (const { model, data, rewards, training } of configs) {
    const named = [
      model.model_name_or_path,
      model.adapter_name_or_path,
      model.tokenizer_name_or_path,
      data.dataset_name,
      data.eval_dataset_name,
      ...(data.task_files ?? []).map(({ path }) => path),
      ...rewards.map(({ file }) => file?.path),
    ];
    for (const name of named) {
      if (name === null || name === undefined || name === "") continue;
      const path = resolve(workDir, name);
      if (!await exists(path)) continue; // a name on the Hub
      const isFolder = (await Deno.stat(path)).isDirectory;
      if (!isInside(path, workDir)) folders.add(isFolder ? path : dirname(path));
    }
    // The run may make this file.
    const output = resolve(workDir, training.output_dir);
    if (!isInside(output, workDir)) folders.add(dirname(output));
  }
  return [...folders];
}

function isInside(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way !== ".." && !way.startsWith("../") && !isAbsolute(way);
}

/** The shell lines for these folders. */
function bindLines(folders: readonly string[]): string {
  if (folders.length === 0) return "";
  return "\n# Folders elsewhere, which the configuration names.\n" +
    `export APPTAINER_BIND=${shellWord(folders.join(","))}",$APPTAINER_BIND"`;
}

async function workFolder({ section, placeOf }: FoundSection): Promise<string | null> {
  const { work_dir } = section;
  if (work_dir === null) return null;
  const found = await Deno.stat(work_dir).catch(() => null);
  if (found?.isDirectory) return work_dir;
  const what = found === null ? "there is no such folder" : "is no folder";
  throw new UsageError(`${placeOf("work_dir")}: ${work_dir}: ${what}`, {
    advice: "Name a folder that the compute nodes see too; --work-dir is another one for once.",
  });
}
