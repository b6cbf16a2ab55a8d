/**
 * The #SBATCH lines of a job script: the resources that the job requests, and the signal lead, the
 * seconds before its time limit at which it gets the signal to save (`#SBATCH
 * --signal=B:USR2@SECONDS`, set by `--warn`). docs/cluster.md explains each of them. Options that
 * differ between clusters have no flag here; users pass them unchanged (`sbatch`).
 */
import { UsageError } from "../core/errors.ts";
import {
  checkSlurmName,
  DEFAULT_TIME,
  parseMemory,
  parseTimeLimit,
  type TimeLimit,
} from "../configs/types/slurm_values.ts";
import { logFolderPattern, sbatchValue } from "./quote.ts";

/** The resources of a job, as the user requests them. */
export interface JobRequest {
  /** Default: the site's default partition. */
  partition?: string;
  /** H:M:S, D-H:M:S, …; default 04:00:00. */
  time?: string;
  /** GPUs of each node; default 1. */
  gpus?: number;
  /** Default: any type. */
  gpuType?: string;
  /** CPU cores of a process; default: from the plan, else 4. */
  cpus?: number;
  /** Memory of a node with its unit; default: from the plan, else 16G. */
  memory?: string;
  /** Number of nodes; default 1. */
  nodes?: number;
  /** Ranks on each node; default: one for each card, at least one. */
  tasksPerNode?: number;
  /** Whether the job is requeued until the run is complete; default true. */
  requeue?: boolean;
  /** The signal lead: seconds before the time limit at which the job is asked to save its state. */
  warn?: number;
  /** Additional options in the form of #SBATCH lines: `--qos=high`. */
  sbatch?: readonly string[];
  /** Additional lines of another scheduler, without #PBS or #BSUB: `-m e`. */
  directives?: readonly string[];
  /** The value of sbatch's `--dependency`: `afterok:123`. */
  dependency?: string;
}

/** A checked request with all defaults. */
export interface Job
  extends Omit<Required<JobRequest>, "partition" | "time" | "warn" | "dependency"> {
  account: string | null;
  partition: string | null;
  time: TimeLimit;
  /** Seconds before the time limit at which SLURM sends USR2. */
  signalLead: number;
  dependency: string | null;
}

/** The cores and the memory that a process of a job needs, by its plan. */
export interface ProcessNeeds {
  /** CPU cores. */
  cpus: number;
  /** Bytes of the host's memory. */
  memory: number;
}

/** The job, with the cores and the memory of the plan unless the user has set them. */
export function withNeeds(job: Job, request: JobRequest, { cpus, memory }: ProcessNeeds): Job {
  const gigabytes = Math.ceil(job.tasksPerNode * memory / 2 ** 30);
  return {
    ...job,
    cpus: request.cpus ?? cpus,
    memory: request.memory === undefined ? `${gigabytes}G` : job.memory,
  };
}

/** A note if the user asks for less memory than the plan needs. */
export function tooLittleMemory(job: Job, { memory }: ProcessNeeds): string[] {
  const [, number, unit] = /^(\d+)([KMGT])$/.exec(job.memory) ?? [];
  if (number === undefined) return [];
  const needed = job.tasksPerNode * memory;
  if (Number(number) * 2 ** (10 * (1 + "KMGT".indexOf(unit!))) >= Math.floor(needed)) return [];
  return [
    `${job.memory} of memory is less than the ${Math.ceil(needed / 2 ** 30)}G that the plan asks ` +
    "for: the job may end at its start, or be killed",
  ];
}

/** sbatch options that the script itself sets, and the flags for them. */
const RESERVED_OPTIONS: Readonly<Record<string, string>> = {
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

const CONDITION = "(?:singleton|(?:after(?:any|burstbuffer|corr|notok|ok)?|expand)" +
  String.raw`(?::\d+(?:_(?:\d+|\*))?(?:\+\d+)?)+)`;
/** Conditions such as `afterok:12:13_4`: all of them (`,`) or one of them (`?`). */
const DEPENDENCY = new RegExp(`^${CONDITION}(?:[,?]${CONDITION})*$`);

/**
 * Checks a request and fills in defaults.
 * @param account null: the scheduler's default is charged
 * @throws UsageError for what SLURM or a shell misreads
 */
export function checkJob(account: string | null, request: JobRequest): Job {
  const time = parseTimeLimit(request.time ?? DEFAULT_TIME);
  const gpuType = request.gpuType ?? "", partition = request.partition ?? null;
  if (account !== null) checkSlurmName(account, "account", "ACCOUNT ");
  if (partition !== null) checkSlurmName(partition, "partition", "--partition ");
  // PBS has types as RESOURCE=VALUE.
  for (const part of gpuType === "" ? [] : gpuType.split("=")) {
    checkSlurmName(part, "gpuType", "--gpu-type ");
  }
  const dependency = request.dependency ?? null;
  if (dependency !== null && !DEPENDENCY.test(dependency)) {
    throw new UsageError(`--dependency ${dependency}: expected for example afterok:1234`);
  }
  return {
    account,
    partition,
    time,
    gpus: request.gpus ?? 1,
    gpuType,
    cpus: request.cpus ?? 4,
    memory: parseMemory(request.memory ?? "16G"),
    nodes: request.nodes ?? 1,
    tasksPerNode: request.tasksPerNode ?? 1,
    requeue: request.requeue ?? true,
    signalLead: signalLeadSeconds(time, request.warn ?? null),
    sbatch: (request.sbatch ?? []).map(furtherOption),
    directives: (request.directives ?? []).map(directive),
    dependency,
  };
}

/**
 * Checks an additional option: `--qos=high`, `qos=high` or `-J x`. If a shell has removed the
 * quotes of a value with spaces, they are added again.
 * @throws UsageError
 */
function furtherOption(text: string): string {
  const line = text.trim().replace(/^#SBATCH\s+/, "");
  const [, dashes, name] = /^(--?)?([A-Za-z][A-Za-z-]*)(?=$|[\s=])/.exec(line) ?? [];
  if (name === undefined || /[\r\n]/.test(line)) {
    throw new UsageError(`--sbatch ${JSON.stringify(text)}: expected one option of sbatch`, {
      advice: "For example --sbatch=--qos=high --sbatch=--mail-type=END",
    });
  }
  const replacement = RESERVED_OPTIONS[name];
  if (replacement !== undefined) {
    throw new UsageError(`--sbatch ${text}: the script sets ${dashes ?? "--"}${name} itself`, {
      advice: `Use ${replacement}.`,
    });
  }
  const option = dashes === undefined ? `--${line}` : line;
  const [, before, value] = /^(--[A-Za-z-]+=)([^"'\\]*\s[^-"'\\][^"'\\]*)$/.exec(option) ?? [];
  return value === undefined || /\s-/.test(value) ? option : before + sbatchValue(value);
}

/** An additional line of another scheduler. @throws UsageError */
function directive(text: string): string {
  const line = text.trim().replace(/^#(?:PBS|BSUB)\s+/, "");
  if (/^-[A-Za-z]/.test(line) && !/[\r\n]/.test(line)) return line;
  throw new UsageError(`--directive ${JSON.stringify(text)}: expected an option, as in "-m e"`);
}

/**
 * The #SBATCH lines of a job.
 * @param about.log the folder of the logs, which must exist when the job starts
 * @param about.array the value of sbatch's `--array`, or null
 */
export function headerLines(
  job: Job,
  about: { jobName: string; log: string; array: string | null },
): string[] {
  const { jobName, log, array } = about;
  const cards = job.gpus === 0 ? [] : [`--gres=${gres(job)}`];
  return [
    `--job-name=${jobName}`,
    ...(job.account === null ? [] : [`--account=${job.account}`]),
    ...(job.partition === null ? [] : [`--partition=${job.partition}`]),
    `--nodes=${job.nodes}`,
    `--ntasks-per-node=${job.tasksPerNode}`,
    `--cpus-per-task=${job.cpus}`,
    ...cards,
    `--mem=${job.memory}`,
    `--time=${job.time.text}`,
    ...(array === null ? [] : [`--array=${array}`]),
    ...(job.dependency === null ? [] : [`--dependency=${job.dependency}`]),
    `--signal=B:USR2@${job.signalLead}`,
    job.requeue ? "--requeue" : "--no-requeue",
    "--open-mode=append",
    `--output=${sbatchValue(`${logFolderPattern(log)}/%x-${array === null ? "%j" : "%A_%a"}.out`)}`,
    ...job.sbatch,
  ].map((option) => `#SBATCH ${option}`);
}

/** The value of `--gres`: type and number of the GPUs of one node. */
export function gres({ gpuType, gpus }: Pick<Job, "gpuType" | "gpus">): string {
  return `${gpuType === "" ? "gpu" : `gpu:${gpuType}`}:${gpus}`;
}

/** The lead in seconds of long jobs. */
const DEFAULT_SIGNAL_LEAD_SECONDS = 600;
/** The maximum that SLURM accepts for `--signal`. */
const MAX_SIGNAL_LEAD_SECONDS = 65535;

/** A shorter lead may be over before SLURM looks at the clock. */
const SHORT_SIGNAL_LEAD_SECONDS = 60;

/**
 * Reads the value of `--warn`: seconds, or as sbatch's `--signal` has it, `B:USR2@SECONDS`.
 * @throws UsageError
 */
export function parseSignalLead(text: string): number {
  const [, signal, seconds] = /^(?:(?:[BR]{1,2}:)?(?:SIG)?([A-Z0-9]+)@)?(\d{1,6})$/i.exec(text) ??
    [];
  if (seconds === undefined || Number(seconds) === 0) {
    throw new UsageError(`--warn ${text}: expected seconds, as in --warn 600`, {
      advice: "So long before its time limit the job gets a signal and saves.",
    });
  }
  if (signal !== undefined && !/^(?:USR2|12)$/i.test(signal)) {
    throw new UsageError(`--warn ${text}: the script waits for USR2`, {
      advice: `--warn ${seconds} is enough; it stands for --signal=B:USR2@${seconds}.`,
    });
  }
  return Number(seconds);
}

export function signalLeadNotes(given: number | null): string[] {
  if (given === null || given >= SHORT_SIGNAL_LEAD_SECONDS) return [];
  return [
    `--warn ${given}: in ${given} seconds the step under way must end and a checkpoint be ` +
    "written, or the job is killed and loses what came after the last one; SLURM looks at the " +
    "clock every 30 seconds",
  ];
}

/**
 * The signal lead of a job. The default is 600 seconds. For time limits below 40 minutes it is a
 * quarter of the limit, but at least a minute, and at most half of the limit. SLURM checks the time
 * every 30 seconds and may send the signal up to a minute early. If the lead were as long as the
 * limit, every job would get the signal at the first check.
 * @param given the value of `--warn`, or null for the default
 * @throws UsageError when the given lead is too long
 */
export function signalLeadSeconds(limit: TimeLimit, given: number | null): number {
  const half = Math.floor(limit.seconds / 2);
  if (given === null) {
    const quarter = Math.floor(limit.seconds / 4);
    return Math.min(DEFAULT_SIGNAL_LEAD_SECONDS, half, Math.max(quarter, 60));
  }
  const max = Math.min(MAX_SIGNAL_LEAD_SECONDS, half);
  if (given <= max) return given;
  throw new UsageError(
    `--warn ${given}: with --time ${limit.text} expected at most ${max} seconds`,
    {
      advice:
        "A job that is warned in the first half of its time does little else than save. It takes " +
        "the time of one step and of one checkpoint, and a minute.",
    },
  );
}
