/** What the scripts of training and of benchmarks have in common. */
import { resolve } from "node:path";
import { UsageError } from "../core/errors.ts";
import { fileName } from "../core/paths.ts";
import { programCommand } from "../core/program_command.ts";
import { VERSION } from "../core/version.ts";
import { checkJob, type Job, type JobRequest } from "./header.ts";
import { isMinutesAndSeconds } from "./limits.ts";
import { requireScriptPath, shellWord, shellWords } from "./quote.ts";

/** A finished script, not yet written. */
export interface JobScript {
  text: string;
  jobName: string;
  /** Folder of the logs; it must be there when the job starts, or the job fails without a word. */
  logs: string;
  /** What the user should know although nothing is wrong. */
  notes: string[];
}

export interface CommonOptions extends JobRequest {
  /** Where the job runs and relative paths begin; default: the current folder. */
  workDir?: string;
  jobName?: string;
  /** Leaves the variables out that forbid all access to the Hub. */
  online?: boolean;
  /** Environment modules to load. */
  modules?: readonly string[];
  /** Shell lines to run before the program. */
  setup?: readonly string[];
  /** Restarts in a row without anything new before a job is not requeued any more; default 5. */
  maxIdleRestarts?: number;
  /** How the program is started; default: as this one was. */
  program?: readonly string[];
  /** Where the script will be. */
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

/** @throws UsageError for a request that cannot be met, or a folder that is not there */
export async function prepare(
  account: string,
  options: CommonOptions,
  jobName: string,
): Promise<Prepared> {
  const job = checkJob(account, options);
  const workDir = await existingFolder(options.workDir ?? Deno.cwd());
  const logs = `${workDir === "/" ? "" : workDir}/logs`;
  await requireLogFolders(job.sbatch, workDir);
  const program = options.program ?? programCommand();
  const notes: string[] = [];
  if (isMinutesAndSeconds(job.time)) {
    notes.push(
      `--time ${job.time.text} is minutes and seconds to SLURM; hours are ${job.time.text}:00`,
    );
  }
  return {
    job,
    workDir,
    logs,
    notes,
    values: {
      made_by: `Written by rgx ${VERSION}; rgx slurm --help says how, docs/cluster.md why.`,
      work_dir: shellWord(workDir),
      logs: shellWord(logs),
      program: shellWords(program),
      environment: environment(options),
      memo: shellWord(`${logs}/.${jobName}`),
      max_idle: String(options.maxIdleRestarts ?? 5),
    },
  };
}

/** What `{{requeue}}` stands for in a job that shall not come back. */
export const NO_REQUEUE = `
if [ "$code" = 75 ] && [ -z "$ending" ]; then
  echo "job $id: saved, there is more to do; submit it again to go on" >&2
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

/** Logs of one's own. @throws UsageError where a job would fail without a word: its log has no folder */
async function requireLogFolders(further: readonly string[], workDir: string): Promise<void> {
  for (const option of further) {
    const [, path] = /^(?:--(?:output|error)[=\s]\s*|-[oe]\s*)(["']?.+)$/.exec(option) ?? [];
    const folder = path?.replace(/^["']/, "").match(/^(.*)\//)?.[1];
    if (folder === undefined || folder.includes("%")) continue; // the work folder, or known to SLURM alone
    const found = await Deno.stat(resolve(workDir, folder || "/")).catch(() => null);
    if (found?.isDirectory) continue;
    throw new UsageError(`--sbatch ${option}: there is no folder ${resolve(workDir, folder)}`, {
      advice: "Make it first: a job whose log has no folder fails without a word.",
    });
  }
}

function environment({ online, modules = [], setup = [] }: CommonOptions): string {
  for (const name of modules) {
    if (!/^[A-Za-z0-9][A-Za-z0-9._+/-]*$/.test(name)) {
      throw new UsageError(`--module ${JSON.stringify(name)}: expected the name of a module`);
    }
  }
  return [
    // srun would take them for its own; set by a job that this one may have been submitted from.
    "unset SLURM_CPU_BIND SLURM_MEM_BIND SLURM_MEM_PER_CPU SLURM_MEM_PER_GPU SLURM_GPUS SLURM_STEP_ID # of an outer job",
    ...modules.map((name) => `module load ${name}`),
    ...setup,
    ...(online ? [] : [
      "# Compute nodes have no internet: get models on the login node first.",
      "export HF_HUB_OFFLINE=1 HF_DATASETS_OFFLINE=1 TRANSFORMERS_OFFLINE=1 WANDB_MODE=offline",
    ]),
    "# Threads: the cores of the job (rgx reads SLURM_CPUS_PER_TASK itself; srun does not take it over).",
    'export OMP_NUM_THREADS="${SLURM_CPUS_PER_TASK:-1}" SRUN_CPUS_PER_TASK="${SLURM_CPUS_PER_TASK:-1}"',
  ].join("\n");
}

/** Whether a device may be a graphics card: `auto` takes one where there is one. */
export function needsCard(device: string | undefined): boolean {
  return device !== "wasm" && device !== "reference";
}

/** @throws UsageError for a name that is no part of a file's name */
export function checkJobName(given: string | undefined, otherwise: string): string {
  if (given === undefined) return fileName(otherwise);
  if (/^[A-Za-z0-9_][A-Za-z0-9._-]*$/.test(given)) return given;
  throw new UsageError(
    `--job-name ${
      JSON.stringify(given)
    }: expected letters, digits and any of . _ - (it names files)`,
  );
}
