/**
 * The schedulers for which rgx writes job scripts: SLURM, PBS (Professional and OpenPBS) and LSF.
 * SLURM warns a job before its end and puts it back into the queue. The others do neither in the
 * same way at all sites, so the script's own shell watches the clock, and submits the script again.
 */
import { UsageError } from "../core/errors.ts";
import { arrayOption } from "./array.ts";
import { headerLines, type Job } from "./header.ts";
import { shellWord } from "./quote.ts";
import jobsTemplate from "./templates/jobs.sh" with { type: "text" };
import mpiChoice from "./templates/mpi.sh" with { type: "text" };
import template from "./templates/train.sh" with { type: "text" };

/** A scheduler of `rgx jobs --scheduler`. */
export type SchedulerName = "slurm" | "pbs" | "lsf";

export interface Elements {
  /** Their numbers as the user counts them. */
  indices: readonly number[];
  /** The number of elements that run at the same time; null: all. */
  atOnce: number | null;
}

interface HeadParts {
  jobName: string;
  log: string;
  /** Null: the job is no array. */
  elements: Elements | null;
}

/** How a scheduler is spoken to. */
export interface Scheduler {
  /** The command of rgx that writes its scripts. */
  command: string;
  /** The template of a training job. */
  template: string;
  /** Lines of the script's head that ask for what the job needs. @throws UsageError */
  head(job: Job, parts: HeadParts): string[];
  /** @param type the value of `srun --mpi`; null: the one that fits @throws UsageError */
  launch(job: Job, type: string | null): Launch;
  /** The command that submits a script. */
  submit(script: string, about: Omit<HeadParts, "log">): string[];
  /** The numbers by which its jobs know their elements. */
  numbers(elements: Elements): readonly number[];
  /** The shell variable with such a number. */
  element: string;
  /** Shell lines before the user's, and lines that give the job its cores. */
  before: readonly string[];
  cores: readonly string[];
  /** A shell command that prints another number after each restart. */
  restarts: string;
  /** Placeholders of the template. */
  values(job: Job, script: string): Record<string, string>;
  /** A line of the output of `submit` → the id of the job; null: it is none. */
  idOf(line: string): string | null;
}

/** Shell lines that choose how srun starts MPI, and the call of srun: for one process, or ranks. */
export interface Launch {
  mpi: string;
  srun: string;
}

/** The start of one process. srun starts it, so that SLURM's signals reach it. */
export const ONE_PROCESS: Launch = {
  mpi: "",
  srun: "srun --nodes=1 --ntasks=1 --kill-on-bad-exit=1",
};

/**
 * The start of a job's ranks: of one alone, or of several through MPI.
 * @param type the value of `srun --mpi`; null = the one that fits the MPI library
 * @throws UsageError when it can be no such value
 */
function launchOf(
  { nodes, tasksPerNode }: Pick<Job, "nodes" | "tasksPerNode">,
  type: string | null,
): Launch {
  const ranks = nodes * tasksPerNode, launch = ranksLaunch(nodes, [ranks, tasksPerNode], type);
  if (ranks > 1) return launch;
  if (type !== null) {
    throw new UsageError(`--mpi ${type}: is for several ranks, and the job has one`, {
      advice: "--nodes, --gpus and --ntasks-per-node say how many there are.",
    });
  }
  return ONE_PROCESS;
}

/**
 * The start of ranks through MPI.
 * @param tasks the number of ranks altogether and on each node; words of the shell are allowed
 * @param type the value of `srun --mpi`; null = the one that fits the MPI library
 */
export function ranksLaunch(
  nodes: number,
  [all, each]: readonly [all: number | string, each: number | string],
  type: string | null,
): Launch {
  if (type !== null && !/^[a-z][a-z0-9_]*$/.test(type)) {
    throw new UsageError(`--mpi ${JSON.stringify(type)}: expected a type of srun --mpi=list`);
  }
  return {
    mpi: type === null ? mpiChoice.trimEnd() : `mpi=${type}`,
    srun: `srun --nodes=${nodes} --ntasks=${all} --ntasks-per-node=${each} ` +
      '--mpi="$mpi" --kill-on-bad-exit=1',
  };
}

const SLURM: Scheduler = {
  command: "slurm",
  template,
  head: (job, { jobName, log, elements }) =>
    headerLines(job, {
      jobName,
      log,
      array: elements && arrayOption(elements.indices, elements.atOnce),
    }),
  launch: launchOf,
  submit: (script) => ["sbatch", "--parsable", script],
  numbers: ({ indices }) => indices,
  element: "SLURM_ARRAY_TASK_ID",
  before: [
    "# If this job was submitted from within another one, srun would read that job's variables.",
    "unset SLURM_CPU_BIND SLURM_MEM_BIND SLURM_MEM_PER_CPU SLURM_MEM_PER_GPU " +
    "SLURM_GPUS SLURM_STEP_ID",
  ],
  cores: [
    "# Use the cores of the job. rgx reads SLURM_CPUS_PER_TASK itself, but srun does not.",
    'export OMP_NUM_THREADS="${SLURM_CPUS_PER_TASK:-1}" ' +
    'SRUN_CPUS_PER_TASK="${SLURM_CPUS_PER_TASK:-1}"',
  ],
  restarts: 'echo "${SLURM_RESTART_COUNT:-0}"',
  values: () => ({}),
  idOf: (line) => /^(\d+)(?:;|$)/.exec(line)?.[1] ?? null,
};

/**
 * What the other schedulers share.
 * @param element a shell expression: the element of an array that a job is, from 0
 * @param again a shell command that submits the script `$script` again, for `$element`
 */
const resubmitting = (element: string, again: string) => ({
  command: "jobs",
  template: jobsTemplate,
  launch: mpirunLaunch,
  numbers: ({ indices }: Elements) => indices.map((_, position) => position),
  element: "element",
  before: [],
  cores: [],
  restarts: "date +%s",
  values: (job: Job, script: string) => ({
    script: shellWord(script),
    element,
    again,
    seconds: String(Math.max(1, job.time.seconds - job.signalLead)),
    cpus: String(job.cpus),
  }),
});

const ofElements = (elements: Elements | null, words: (count: number, limit: string) => string[]) =>
  elements === null
    ? []
    : words(elements.indices.length, elements.atOnce === null ? "" : `%${elements.atOnce}`);

const clock = (seconds: number, ...units: number[]) =>
  units.map((unit, i) => {
    const count = Math.floor((i === 0 ? seconds : seconds % units[i - 1]!) / unit);
    return String(count).padStart(2, "0");
  }).join(":");

/** "16G" → "16gb". */
const pbsMemory = (memory: string) => `${memory.toLowerCase()}b`;

const PBS: Scheduler = {
  ...resubmitting(
    "${RGX_ELEMENT:-${PBS_ARRAY_INDEX:-}}",
    'qsub -v RGX_ELEMENT="$element" "$script"',
  ),
  head(job, { jobName, log }) {
    const { nodes, tasksPerNode: ranks, cpus, gpus, gpuType } = job;
    if (gpuType !== "" && !gpuType.includes("=")) {
      throw new UsageError(`--gpu-type ${gpuType}: PBS has no common name for a type of card`, {
        advice: `Name the site's resource too: --gpu-type gpu_type=${gpuType}`,
      });
    }
    const chunk = [
      `select=${nodes}`,
      `ncpus=${ranks * cpus}`,
      `mpiprocs=${ranks}`,
      `ompthreads=${cpus}`,
      ...(gpus === 0 ? [] : [`ngpus=${gpus}`]),
      ...(gpuType === "" ? [] : [gpuType]),
      `mem=${pbsMemory(job.memory)}`,
    ].join(":");
    return [
      `-N ${jobName.slice(0, 230)}`,
      ...(job.account === null ? [] : [`-A ${job.account}`]),
      ...(job.partition === null ? [] : [`-q ${job.partition}`]),
      `-l ${chunk}`,
      `-l walltime=${clock(job.time.seconds, 3600, 60, 1)}`,
      ...(nodes > 1 ? ["-l place=scatter"] : []),
      ...(job.dependency === null ? [] : [`-W depend=${job.dependency}`]),
      "-j oe",
      `-o ${log}/`,
      ...job.directives,
    ].map((line) => `#PBS ${line}`);
  },
  submit: (script, { elements }) => [
    "qsub",
    // An array has at least two elements.
    ...ofElements(
      elements,
      (count, limit) => count === 1 ? ["-v", "RGX_ELEMENT=0"] : ["-J", `0-${count - 1}${limit}`],
    ),
    script,
  ],
  idOf: (line) => /^\d+(?:\[\])?(?:\.[\w.-]+)?$/.test(line) ? line : null,
};

const LSF: Scheduler = {
  // Outside of an array the index is 0; its elements are counted from 1.
  ...resubmitting(
    "${RGX_ELEMENT:-$((${LSB_JOBINDEX:-0} - 1))}",
    'RGX_ELEMENT="$element" bsub <"$script"',
  ),
  head(job, { jobName, log }) {
    const { nodes, tasksPerNode: ranks, cpus, gpus, gpuType } = job;
    return [
      `-J ${jobName}`,
      ...(job.account === null ? [] : [`-P ${job.account}`]),
      ...(job.partition === null ? [] : [`-q ${job.partition}`]),
      `-n ${nodes * ranks * cpus}`,
      `-R "span[ptile=${ranks * cpus}]"`,
      `-R "rusage[mem=${job.memory}B]"`,
      ...(gpus === 0 ? [] : [`-gpu "num=${gpus}${gpuType === "" ? "" : `:gmodel=${gpuType}`}"`]),
      `-W ${clock(Math.max(60, job.time.seconds), 3600, 60)}`,
      ...(job.dependency === null ? [] : [`-w "${lsfCondition(job.dependency)}"`]),
      `-o ${log}/${jobName}-%J.out`,
      ...job.directives,
    ].map((line) => `#BSUB ${line}`);
  },
  submit(script, { jobName, elements }) {
    const further = ofElements(elements, (count, limit) => ["-J", `${jobName}[1-${count}]${limit}`])
      .map((word) => `${shellWord(word)} `).join("");
    return ["sh", "-c", `bsub ${further}< ${shellWord(script)}`];
  },
  idOf: (line) => /^Job <(\d+)> is submitted/.exec(line)?.[1] ?? null,
};

/** `afterok:12:13` → `done(12) && done(13)`. @throws UsageError for other conditions */
function lsfCondition(dependency: string): string {
  const words: Readonly<Record<string, string>> = {
    after: "started",
    afterok: "done",
    afterany: "ended",
    afternotok: "exit",
  };
  return dependency.split(",").map((condition) => {
    const [kind, ...ids] = condition.split(":"), word = words[kind!];
    if (word !== undefined && ids.length > 0 && ids.every((id) => /^\d+$/.test(id))) {
      return ids.map((id) => `${word}(${id})`).join(" && ");
    }
    throw new UsageError(`--dependency ${dependency}: LSF has no such condition`, {
      advice: `Expected one of ${Object.keys(words).join(", ")} with ids, as in afterok:1234`,
    });
  }).join(" && ");
}

const SCHEDULERS: Readonly<Record<SchedulerName, Scheduler>> = { slurm: SLURM, pbs: PBS, lsf: LSF };

export function schedulerOf(name: SchedulerName = "slurm"): Scheduler {
  return SCHEDULERS[name];
}

/** The start of a job's ranks where no srun starts them. */
function mpirunLaunch(
  { nodes, tasksPerNode }: Pick<Job, "nodes" | "tasksPerNode">,
): Launch {
  const ranks = nodes * tasksPerNode;
  if (ranks === 1) return { mpi: "notice=USR2", srun: "" };
  return {
    mpi: [
      "# Open MPI passes USR2 on to its ranks; MPICH would die of it, and passes USR1 on.",
      "if command -v ompi_info >/dev/null; then",
      `  launch=(mpirun --bind-to none -np ${ranks} --map-by ppr:${tasksPerNode}:node) notice=USR2`,
      "else",
      `  launch=(mpiexec -n ${ranks} -ppn ${tasksPerNode}) notice=USR1`,
      "fi",
    ].join("\n"),
    srun: '"${launch[@]}" ',
  };
}
