/**
 * The schedulers besides SLURM for which rgx writes job scripts: PBS (Professional and OpenPBS) and
 * LSF. Neither warns a job in the same way at all sites, so the script's own shell watches the
 * clock; and neither puts a job back on its own wish, so the script submits itself again.
 */
import { UsageError } from "../core/errors.ts";
import type { Job } from "./header.ts";
import { shellWord } from "./quote.ts";

/** A scheduler of `rgx jobs --scheduler`. */
export type SchedulerName = "slurm" | "pbs" | "lsf";

/** The names in a script's head. */
interface HeaderParts {
  jobName: string;
  /** The folder of the logs. */
  log: string;
}

/** How a scheduler is spoken to. */
export interface Scheduler {
  /** Lines of the script's head that ask for what the job needs. @throws UsageError */
  header(job: Job, parts: HeaderParts): string[];
  /** Arguments that submit elements 0 to `count` − 1 as an array, at most `atOnce` at a time. */
  array(jobName: string, count: number, atOnce: number | null): string[];
  /** The command that submits a script. */
  submit(script: string, further: readonly string[]): string[];
  /** A shell expression: the element of an array that a job is, from 0. */
  element: string;
  /** A shell command that submits the script `$script` again, for the element `$element`. */
  again: string;
  /** A line of the command's output → the id of the job; null: it is none. */
  idOf(line: string): string | null;
}

const clock = (seconds: number, ...units: number[]) =>
  units.map((unit, i) => {
    const count = Math.floor((i === 0 ? seconds : seconds % units[i - 1]!) / unit);
    return String(count).padStart(2, "0");
  }).join(":");

/** "16G" → "16gb". */
const pbsMemory = (memory: string) => `${memory.toLowerCase()}b`;

const PBS: Scheduler = {
  header(job, { jobName, log }) {
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
  array(_jobName, count, atOnce) {
    // An array has at least two elements.
    if (count === 1) return ["-v", "RGX_ELEMENT=0"];
    return ["-J", `0-${count - 1}${atOnce === null ? "" : `%${atOnce}`}`];
  },
  submit: (script, further) => ["qsub", ...further, script],
  element: "${RGX_ELEMENT:-${PBS_ARRAY_INDEX:-}}",
  again: 'qsub -v RGX_ELEMENT="$element" "$script"',
  idOf: (line) => /^\d+(?:\[\])?(?:\.[\w.-]+)?$/.test(line) ? line : null,
};

const LSF: Scheduler = {
  header(job, { jobName, log }) {
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
  array: (jobName, count, atOnce) => [
    "-J",
    `${jobName}[1-${count}]${atOnce === null ? "" : `%${atOnce}`}`,
  ],
  submit: (script, further) => [
    "sh",
    "-c",
    `bsub ${further.map((word) => `${shellWord(word)} `).join("")}< ${shellWord(script)}`,
  ],
  // Outside of an array the index is 0; its elements are counted from 1.
  element: "${RGX_ELEMENT:-$((${LSB_JOBINDEX:-0} - 1))}",
  again: 'RGX_ELEMENT="$element" bsub <"$script"',
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

/** A scheduler by its name; null: SLURM, which has templates of its own. */
export function schedulerOf(name: SchedulerName): Scheduler | null {
  return { slurm: null, pbs: PBS, lsf: LSF }[name];
}

/** Shell lines that choose how the ranks of a job are started, and the words before the command. */
export function mpirunLaunch(
  { nodes, tasksPerNode }: Pick<Job, "nodes" | "tasksPerNode">,
): { mpi: string; srun: string } {
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
