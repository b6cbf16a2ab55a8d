/**
 * The lines that sbatch reads: what the job asks for. Why each is there: docs/cluster.md. Left out on purpose:
 * what differs between clusters and has no common name, which is handed through as it is (`sbatch`).
 */
import { UsageError } from "../core/errors.ts";
import { parseMemory, parseTimeLimit, type TimeLimit, warningSeconds } from "./limits.ts";
import { logFolderPattern, sbatchValue } from "./quote.ts";

/** What a job asks for, as the user says it. */
export interface JobRequest {
  partition?: string;
  /** H:M:S, D-H:M:S, …; default 04:00:00. */
  time?: string;
  /** Cards a node; default 4. */
  gpus?: number;
  /** Default a100; empty: any. */
  gpuType?: string;
  /** Cores of the process; default 16. */
  cpus?: number;
  /** With its unit; default 320G. */
  memory?: string;
  nodes?: number;
  /** Default true. */
  requeue?: boolean;
  /** Seconds before the end at which the job is told to save. */
  warn?: number;
  /** Further options, each as on an #SBATCH line: `--qos=high`. */
  sbatch?: readonly string[];
  /** As sbatch takes it: `afterok:123`. */
  dependency?: string;
}

export interface Job {
  account: string;
  partition: string;
  time: TimeLimit;
  gpus: number;
  gpuType: string;
  cpus: number;
  memory: string;
  nodes: number;
  requeue: boolean;
  warn: number;
  sbatch: readonly string[];
  dependency: string | null;
}

/** Options that the script needs as it writes them, and what to use instead. */
const OWN_OPTIONS: Readonly<Record<string, string>> = {
  signal: "--warn SECONDS",
  time: "--time, which --warn goes with",
  t: "--time, which --warn goes with",
  array: "--array",
  a: "--array",
  dependency: "--dependency",
  d: "--dependency",
  requeue: "--requeue",
  "no-requeue": "--no-requeue",
  "open-mode": "nothing: a requeued job appends to its log",
  wrap: "--template FILE",
};

/** @throws UsageError for what SLURM, or a shell, would misread */
export function checkJob(account: string, request: JobRequest): Job {
  const time = parseTimeLimit(request.time ?? "04:00:00");
  const gpuType = request.gpuType ?? "a100";
  const partition = request.partition ?? "GPUQ";
  plainName("ACCOUNT", account, /^[A-Za-z0-9_][A-Za-z0-9_.@+:-]*$/);
  plainName("--partition", partition, /^[A-Za-z0-9_][A-Za-z0-9_.@+,-]*$/);
  if (gpuType !== "") plainName("--gpu-type", gpuType, /^[A-Za-z0-9_][A-Za-z0-9_.-]*$/);
  const dependency = request.dependency ?? null;
  if (dependency !== null && !/^(singleton|[a-z]+:[0-9_+:,?a-z]+)$/.test(dependency)) {
    throw new UsageError(`--dependency ${dependency}: expected for example afterok:1234`);
  }
  return {
    account,
    partition,
    time,
    gpus: request.gpus ?? 4,
    gpuType,
    cpus: request.cpus ?? 16,
    memory: parseMemory(request.memory ?? "320G"),
    nodes: request.nodes ?? 1,
    requeue: request.requeue ?? true,
    warn: warningSeconds(time, request.warn ?? null),
    sbatch: (request.sbatch ?? []).map(furtherOption),
    dependency,
  };
}

function plainName(what: string, text: string, shape: RegExp): void {
  if (shape.test(text)) return;
  const found = text === "" ? "is empty" : `can not be such a name (${badCharacter(text, shape)})`;
  throw new UsageError(`${what} ${JSON.stringify(text)}: ${found}`, {
    advice: what === "ACCOUNT"
      ? "Your accounts: sacctmgr show associations user=$USER format=account"
      : what === "--partition"
      ? "Partitions of the cluster: sinfo -s"
      : "Types of the cluster's cards: sinfo -o %G",
  });
}

/** Behind a letter, since some may not be the first. */
function badCharacter(text: string, shape: RegExp): string {
  const bad = [...text].find((character) => !shape.test(`a${character}`)) ?? text[0]!;
  return `it has ${bad === " " ? "a space" : JSON.stringify(bad)}`;
}

/** `--qos=high`, `qos=high` or `-J x`; what a shell has taken quotes from gets some. @throws UsageError */
function furtherOption(text: string): string {
  const line = text.trim().replace(/^#SBATCH\s+/, "");
  const [, dashes, name] = /^(--?)?([A-Za-z][A-Za-z-]*)(?=$|[\s=])/.exec(line) ?? [];
  if (name === undefined || /[\r\n]/.test(line)) {
    throw new UsageError(`--sbatch ${JSON.stringify(text)}: expected one option of sbatch`, {
      advice: "For example --sbatch=--qos=high --sbatch=--mail-type=END",
    });
  }
  const own = OWN_OPTIONS[name];
  if (own !== undefined) {
    throw new UsageError(`--sbatch ${text}: the script sets ${dashes ?? "--"}${name} itself`, {
      advice: `Use ${own}.`,
    });
  }
  const option = dashes === undefined ? `--${line}` : line;
  const [, before, value] = /^(--[A-Za-z-]+=)([^"'\\]*\s[^-"'\\][^"'\\]*)$/.exec(option) ?? [];
  return value === undefined || /\s-/.test(value) ? option : before + sbatchValue(value);
}

/**
 * The #SBATCH lines.
 * @param about.log the folder of the logs, which must be there when the job starts
 * @param about.array as sbatch takes it, or null
 */
export function headerLines(
  job: Job,
  about: { jobName: string; log: string; array: string | null },
): string[] {
  const { jobName, log, array } = about;
  const cards = job.gpus === 0 ? [] : [`--gres=${gres(job)}`];
  return [
    `--job-name=${jobName}`,
    `--account=${job.account}`,
    `--partition=${job.partition}`,
    `--nodes=${job.nodes}`,
    "--ntasks-per-node=1",
    `--cpus-per-task=${job.cpus}`,
    ...cards,
    `--mem=${job.memory}`,
    `--time=${job.time.text}`,
    ...(array === null ? [] : [`--array=${array}`]),
    ...(job.dependency === null ? [] : [`--dependency=${job.dependency}`]),
    `--signal=B:USR2@${job.warn}`,
    job.requeue ? "--requeue" : "--no-requeue",
    "--open-mode=append",
    `--output=${sbatchValue(`${logFolderPattern(log)}/%x-${array === null ? "%j" : "%A_%a"}.out`)}`,
    ...job.sbatch,
  ].map((option) => `#SBATCH ${option}`);
}

/** Cards of one node; without a number where the script has it in a variable. */
export function gres({ gpuType, gpus }: Pick<Job, "gpuType" | "gpus">): string {
  return `${gpuType === "" ? "gpu" : `gpu:${gpuType}`}:${gpus}`;
}
