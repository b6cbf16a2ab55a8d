/** The parts that the job scripts of training and of benchmarks share. */
import { resolve } from "node:path";
import { UsageError } from "../core/errors.ts";
import { exists, fileName } from "../core/paths.ts";
import { programCommand } from "../core/program_command.ts";
import { VERSION } from "../core/version.ts";
import { checkJob, type Job, type JobRequest, signalLeadNotes } from "./header.ts";
import { isMinutesAndSeconds } from "../configs/types/slurm_values.ts";
import { type Scheduler, type SchedulerName, schedulerOf } from "./schedulers.ts";
import { requireScriptPath, shellWord, shellWords } from "./quote.ts";
import definition from "./templates/rgx.def" with { type: "text" };

export const IMAGE_DEFINITION = definition;

/** A complete script that is not yet written to a file. */
export interface JobScript {
  /** The whole script. */
  text: string;
  /** The job's name in the queue. */
  jobName: string;
  /** Folder of the logs. If it is missing when the job starts, the job fails without a message. */
  logs: string;
  /** Remarks for the user that are no errors. */
  notes: string[];
  /** The command that submits the script from this path. */
  submit: (path: string) => string[];
}

/** The options that jobs of training and of benchmarks share. */
export interface CommonOptions extends JobRequest {
  /** The folder in which the job runs; default: the current folder. */
  workDir?: string;
  /** The job's name in the queue; default: from the configuration or the models. */
  jobName?: string;
  /** Whether the job may access the Hub; by default, variables in the script forbid access. */
  online?: boolean;
  /** Environment modules to load. */
  modules?: readonly string[];
  /** Shell lines to run before the program. */
  setup?: readonly string[];
  /** Number of restarts in a row without progress after which a job is not requeued; default 5. */
  maxIdleRestarts?: number;
  /** The command that starts rgx; default: that of this process. */
  program?: readonly string[];
  /** An Apptainer image with rgx (templates/rgx.def), in which the program runs. */
  apptainer?: string;
  /** `--device` of the program. */
  device?: string;
  /** For which scheduler the script is; default: SLURM. */
  scheduler?: SchedulerName;
  /** The path at which the script will be stored. */
  script?: string;
}

export interface Prepared {
  job: Job;
  workDir: string;
  logs: string;
  notes: string[];
  /** Placeholders that all templates share. */
  values: Record<string, string>;
}

/** Checks the options. @throws UsageError for an invalid option, or a folder that does not exist */
export async function prepare(
  account: string | null,
  options: CommonOptions,
  jobName: string,
): Promise<Prepared> {
  const job = checkJob(account, options);
  const workDir = await existingFolder(options.workDir ?? Deno.cwd());
  const logs = `${workDir === "/" ? "" : workDir}/logs`;
  await requireLogFolders(job.sbatch, workDir);
  const { apptainer, device } = options;
  const program = apptainer !== undefined
    ? await inImage(apptainer, workDir, device)
    : options.program ?? programCommand();
  const scheduler = schedulerOf(options.scheduler);
  const notes = signalLeadNotes(options.warn ?? null);
  if (isMinutesAndSeconds(job.time)) {
    notes.push(
      `a time limit of ${job.time.text} is minutes and seconds to SLURM; hours are ${job.time.text}:00`,
    );
  }
  return {
    job,
    workDir,
    logs,
    notes,
    values: {
      made_by:
        `Written by rgx ${VERSION}; rgx ${scheduler.command} --help says how, docs/cluster.md why.`,
      work_dir: shellWord(workDir),
      logs: shellWord(logs),
      program: shellWords(program),
      environment: environment(options, scheduler, apptainer === undefined ? null : workDir),
      memo: shellWord(`${logs}/.${jobName}`),
      max_idle: String(options.maxIdleRestarts ?? 5),
    },
  };
}

/**
 * Shell lines for several ranks. If one rank is killed, the others end too, and srun ends with the
 * code of a signal. If something was saved, the job can continue.
 * @param isSaved a condition of the shell
 */
export const killedRank = (isSaved: string): string => `
# A rank that was killed has taken the others with it. The job can go on from what was saved.
if [ -z "$ending" ] && ${isSaved}; then
  case $code in 137 | 143) code=75 ;; esac
fi`;

/** The value of `{{requeue}}` for a job that is not requeued. */
export const NO_REQUEUE = `
if [ "$code" = 75 ] && [ -z "$ending" ]; then
  echo "job $id: saved, there is more to do; submit it again to continue" >&2
fi
exit "$code"`;

async function existingFolder(given: string): Promise<string> {
  const path = resolve(given);
  requireScriptPath(path, "--work-dir");
  const found = await Deno.stat(path).catch(() => null);
  if (found?.isDirectory) return path;
  throw new UsageError(
    `--work-dir ${given}: ${found === null ? "there is no such folder" : "is no folder"}`,
    { advice: "Name a folder that the compute nodes see too." },
  );
}

/**
 * Checks the log files that the user names with `sbatch`.
 * @throws UsageError when a log's folder does not exist, since the job would fail without a message
 */
async function requireLogFolders(further: readonly string[], workDir: string): Promise<void> {
  for (const option of further) {
    const [, path] = /^(?:--(?:output|error)[=\s]\s*|-[oe]\s*)(["']?.+)$/.exec(option) ?? [];
    const folder = path?.replace(/^["']/, "").match(/^(.*)\//)?.[1];
    // A log without a folder is in the work folder; only SLURM can resolve a pattern with %.
    if (folder === undefined || folder.includes("%")) continue;
    const found = await Deno.stat(resolve(workDir, folder || "/")).catch(() => null);
    if (found?.isDirectory) continue;
    throw new UsageError(`--sbatch ${option}: there is no folder ${resolve(workDir, folder)}`, {
      advice: "Make it first: a job whose log has no folder fails without a word.",
    });
  }
}

/** The command that starts rgx in an image. @throws UsageError when there is no such image */
async function inImage(given: string, workDir: string, device?: string): Promise<string[]> {
  const image = resolve(given);
  for (const [path, what] of [[image, "--apptainer"], [workDir, "--work-dir"]] as const) {
    requireScriptPath(path, what);
    if (!/[,:]/.test(path)) continue;
    throw new UsageError(`${what} ${path}: apptainer misreads a comma or colon in a path`);
  }
  if (!await exists(image)) {
    throw new UsageError(`--apptainer ${given}: there is no such image`, {
      advice: "rgx slurm --print-definition > rgx.def writes the file that it is built from " +
        "(docs/nodes.md).",
    });
  }
  // --nv brings NVIDIA's driver into the container.
  const card = needsCard(device) ? ["--nv"] : [];
  return ["apptainer", "exec", ...card, "--pwd", workDir, image, "rgx"];
}

/** @param bound the folder that a container must see; null = there is no container */
function environment(
  { online, modules = [], setup = [] }: CommonOptions,
  { before, cores }: Scheduler,
  bound: string | null,
): string {
  for (const name of modules) {
    if (!/^[A-Za-z0-9][A-Za-z0-9._+/-]*$/.test(name)) {
      throw new UsageError(`--module ${JSON.stringify(name)}: expected the name of a module`);
    }
  }
  return [
    ...before,
    ...setupLines(modules, setup),
    ...(bound === null ? [] : [
      "# What the container sees besides the home folder: the job's folder, and caches elsewhere.",
      `export APPTAINER_BIND=${shellWord(bound)}` +
      '"${HF_HOME:+,$HF_HOME}${HF_HUB_CACHE:+,$HF_HUB_CACHE}${APPTAINER_BIND:+,$APPTAINER_BIND}"',
    ]),
    ...(online ? [] : [
      "# Compute nodes have no internet access: download models on the login node first.",
      "export HF_HUB_OFFLINE=1 HF_DATASETS_OFFLINE=1 TRANSFORMERS_OFFLINE=1 WANDB_MODE=offline",
    ]),
    ...cores,
  ].join("\n");
}

/**
 * The user's lines. A line that fails ends the job, with a message that names the line. They are in
 * braces, because a subshell would lose their variables.
 */
function setupLines(modules: readonly string[], setup: readonly string[]): string[] {
  if (modules.length + setup.length === 0) return [];
  return [
    'failed() { echo "the job ends: this line of its setup failed: $1" >&2 && exit 1; }',
    ...modules.map((name) => `module load ${name} || failed 'module load ${name}'`),
    ...setup.map((line) => `{ ${line}\n} || failed ${shellWord(line)}`),
  ];
}

/** Whether a job for this device needs a GPU: `auto` uses one if there is one. */
export function needsCard(device: string | undefined): boolean {
  return device !== "wasm" && device !== "reference";
}

/**
 * The name of a job.
 * @param otherwise used for the default name
 * @throws UsageError when the given name cannot be a part of a file name
 */
export function checkJobName(given: string | undefined, otherwise: string): string {
  if (given === undefined) return fileName(otherwise);
  if (/^[A-Za-z0-9_][A-Za-z0-9._-]*$/.test(given)) return given;
  throw new UsageError(
    `--job-name ${
      JSON.stringify(given)
    }: expected letters, digits and any of . _ - (it names files)`,
  );
}
