/** The script of a training job: one run, or an array of runs that differ in some values or in the seed. */
import { resolve } from "node:path";
import { loadConfig, type LoadedConfig } from "../configs/load.ts";
import { UsageError } from "../core/errors.ts";
import { fileName } from "../core/paths.ts";
import {
  arrayOption,
  type ArraySpec,
  parseArray,
  seedVariants,
  sweepVariants,
  type Variant,
} from "./array.ts";
import { headerLines } from "./header.ts";
import {
  checkJobName,
  type CommonOptions,
  type JobScript,
  needsCard,
  NO_REQUEUE,
  prepare,
} from "./job_script.ts";
import { requireScriptPath, shellWord, shellWords } from "./quote.ts";
import { expandParts, fillTemplate } from "./template.ts";
import template from "./templates/train.sh" with { type: "text" };

/** What a training job asks of the cluster. */
export interface TrainScriptOptions extends CommonOptions {
  /** `key.path=value`, after CONFIG. */
  overrides?: readonly string[];
  /** `key=value,value`: one element of an array each combination. */
  sweep?: readonly string[];
  /** Which elements, and how many at once; without `sweep`: the same run with seed + number. */
  array?: string;
  device?: string;
  /** Instead of the built-in one. */
  template?: { name: string; text: string };
  /** Variables that the configuration reads; default: this process's. */
  env?: Readonly<Record<string, string>>;
}

/** The template that `rgx slurm` fills in. */
export const TRAIN_TEMPLATE = expandParts(template);

/**
 * The job script for `rgx train CONFIG`. The configuration is read and checked, for an array with every
 * combination; nothing is written.
 * @throws UsageError
 */
export async function slurmScript(
  config: string,
  account: string,
  options: TrainScriptOptions = {},
): Promise<JobScript> {
  const { overrides = [], sweep = [] } = options;
  const stem = config.replace(/^rgx:/, "").replace(/^.*\//, "").replace(/\.(ya?ml|json)$/, "");
  // Everything about the job is checked before the configuration is read.
  const { workDir, ...rest } = await prepare(account, options, checkJobName(options.jobName, stem));
  const path = await configPath(config, workDir);
  const load = (more: readonly string[], id = "0") => {
    const env = { ...options.env ?? Deno.env.toObject(), ...jobVariables(id) };
    return loadConfig(path, { overrides: [...overrides, ...more], env, cwd: workDir });
  };
  const base = await load([]);
  // The configuration that a run leaves in its folder is always called config.yaml.
  const jobName = checkJobName(
    options.jobName,
    stem === "config" ? base.config.logging.run_name : stem,
  );
  const { job, logs, notes, values } = rest;
  notes.push(...base.notes, ...idle(job, options.device));
  const array = options.array === undefined ? null : parseArray(options.array);
  const variants = variantsOf(sweep, array, base.config.training.seed);
  for (const { overrides } of variants) await load(overrides);

  // A folder that is named after the job can not be looked into by this script.
  const { output_dir } = base.config.training;
  const isKnown = variants.length > 0 ||
    (await load([], "1")).config.training.output_dir === output_dir;

  const text = options.template?.text ?? template;
  const name = options.template?.name ?? "the built-in template";
  const elements = variants.length === 0
    ? null
    : arrayOption(variants.map(({ index }) => index), array?.atOnce ?? null);
  const header = headerLines(job, { jobName, log: logs, array: elements });
  const progress = !isKnown
    ? UNKNOWN_PROGRESS
    : variants.length > 0
    ? PROGRESS
    : `${PROGRESS}\n${OTHER_FOLDER}`;
  const script = fillTemplate(
    expandParts(text, job.requeue ? [] : ["requeue"]),
    {
      ...values,
      sbatch: header.join("\n"),
      memo: shellWord(`${logs}/.${jobName}`),
      requeue: NO_REQUEUE,
      progress: job.requeue ? progress : "",
      run: runLines(base, variants, job.requeue && isKnown),
      config: shellWord(path),
      overrides: words([
        ...overrides,
        ...(options.device === undefined ? [] : ["--device", options.device]),
      ]),
    },
    name,
    ["sbatch", "config"],
  );
  return { text: script, jobName, logs, notes };
}

/** Where the folder is not known every restart counts as progress; the program has a limit of its own. */
const UNKNOWN_PROGRESS = 'progress() { echo "${SLURM_RESTART_COUNT:-0}"; }';

/** A shell function that prints what grows while the run gets on; its events are no progress. */
const PROGRESS = `progress() { grep -vcs '"event"' "$run/metrics.jsonl"; }`;

/** Words behind the script may name another folder. */
const OTHER_FOLDER = `case $* in *output[-_]dir* | *run_name*) ${UNKNOWN_PROGRESS} ;; esac`;

/** The job's own variables are not known yet, a configuration may still name them. */
const jobVariables = (id: string) => ({
  SLURM_JOB_ID: id,
  SLURM_ARRAY_JOB_ID: id,
  SLURM_ARRAY_TASK_ID: id,
  SLURM_JOB_NAME: "job",
});

/** Absolute for a file; embedded names stay. */
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

/** What of the allocation one process leaves idle. */
function idle({ gpus, nodes }: { gpus: number; nodes: number }, device?: string): string[] {
  const notes: string[] = [];
  if (!needsCard(device) && gpus > 0) {
    notes.push(`--device ${device} uses no graphics card (--gpus 0 asks for none)`);
  } else if (gpus > 1) {
    notes.push(
      `a training run is one process with one graphics card: of --gpus ${gpus}, ${
        gpus - 1
      } would be idle (--gpus 1)`,
    );
  }
  if (nodes > 1) {
    notes.push(
      `a training run is one process on one node: of --nodes ${nodes}, ${
        nodes - 1
      } would be idle (--nodes 1)`,
    );
  }
  return notes;
}

function variantsOf(sweep: readonly string[], array: ArraySpec | null, seed: number): Variant[] {
  if (sweep.length === 0) {
    if (array === null) return [];
    if (array.indices !== null) return seedVariants(array.indices, seed);
    throw new UsageError(`--array %${array.atOnce}: expected numbers too, or --sweep`, {
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

/** The folder of the run, where the script looks for progress; of an array, with each element's own values. */
function runLines(
  { config }: LoadedConfig,
  variants: readonly Variant[],
  requeue: boolean,
): string {
  const folder = config.training.output_dir.replace(/(.)\/+$/, "$1");
  if (variants.length === 0) return requeue ? `run=${shellWord(folder)}` : "";
  const { run_name } = config.logging;
  const lines = variants.map(({ index, overrides, label }) => {
    const run = `${folder}_${label}`;
    const own = [
      ...overrides,
      `logging.run_name=${JSON.stringify(fileName(`${run_name}_${label}`))}`,
      `training.output_dir=${JSON.stringify(run)}`,
    ];
    const where = requeue ? `run=${shellWord(run)} && ` : "";
    return `  ${index}) ${where}set -- ${shellWords(own)} "$@" ;;`;
  });
  return [
    "# What each element of the array does differently.",
    "case $SLURM_ARRAY_TASK_ID in",
    ...lines,
    '  *) echo "no element $SLURM_ARRAY_TASK_ID" >&2 && exit 2 ;;',
    "esac",
  ].join("\n");
}

const words = (list: readonly string[]) => list.map((word) => `${shellWord(word)} `).join("");
