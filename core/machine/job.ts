/**
 * The job of this process, as the scheduler describes it in the environment, and the number of
 * processes that were started together. These variables are read only here; limits of the kernel
 * are read in cgroup.ts. No variable is guaranteed to exist, and one that is no number counts as
 * absent: a job must not fail because of a variable that it does not need.
 */

/** One environment variable; "" counts as absent. */
export type Env = (name: string) => string | undefined;

export const processEnv: Env = (name) => Deno.env.get(name);

/** A SLURM job, as its environment describes it. Sizes are in bytes; null = unknown. */
export interface SlurmJob {
  /** The id for squeue and scontrol: 123, or 123_4 for a task of an array. */
  id: string;
  /** The name of the job. */
  name: string | null;
  /** The partition of the queue that the job runs in. */
  partition: string | null;
  /** The nodes of the job in SLURM's short form: n[1-3]. */
  nodeList: string | null;
  /** SLURM's name of this node; null where it is none of the job's, as in a shell of salloc. */
  node: string | null;
  /** Number of nodes. */
  nodes: number | null;
  /** Number of tasks. Each task is a process. */
  tasks: number | null;
  /** The job's array, its index in the array, and the array's number of tasks; null: no array. */
  array: { job: string; task: number; count: number | null } | null;
  /** How often the job was requeued. */
  restarts: number;
  /** CPUs that were requested for a task. */
  cpusPerTask: number | null;
  /** CPUs of the job on this node; if several tasks are on the node, the share of one task. */
  cpusOnNode: number | null;
  /** Memory of the job on this node; null: no limit is reported. */
  memory: number | null;
  /** Indices of this node's GPUs that the job was given; null: SLURM reports none. */
  gpus: string[] | null;
  /** The end of the job in seconds since 1970; older versions of SLURM do not report it. */
  endTime: number | null;
  /** The folder from which the job was submitted. */
  submitDir: string | null;
}

/** The job of this process, or null outside of a job. */
export function slurmJob(env: Env = processEnv): SlurmJob | null {
  const text = (name: string) => env(name) || null;
  const number = (name: string) => wholeNumber(env(name));
  const jobId = text("SLURM_JOB_ID");
  if (jobId === null) return null;
  const arrayJob = text("SLURM_ARRAY_JOB_ID"), arrayTask = number("SLURM_ARRAY_TASK_ID");
  const array = arrayJob === null || arrayTask === null
    ? null
    : { job: arrayJob, task: arrayTask, count: number("SLURM_ARRAY_TASK_COUNT") };
  const gpus = text("SLURM_STEP_GPUS") ?? text("SLURM_JOB_GPUS");
  const onNode = number("SLURM_CPUS_ON_NODE");
  return {
    // In the last task of an array, SLURM_JOB_ID is the id of the array, which means all tasks.
    id: array === null ? jobId : `${array.job}_${array.task}`,
    name: text("SLURM_JOB_NAME"),
    partition: text("SLURM_JOB_PARTITION"),
    nodeList: text("SLURM_JOB_NODELIST") ?? text("SLURM_NODELIST"),
    node: text("SLURMD_NODENAME"),
    nodes: number("SLURM_JOB_NUM_NODES") ?? number("SLURM_NNODES"),
    tasks: number("SLURM_NTASKS"),
    array,
    restarts: number("SLURM_RESTART_COUNT") ?? 0,
    cpusPerTask: number("SLURM_CPUS_PER_TASK"),
    cpusOnNode: onNode === null ? null : Math.max(1, Math.floor(onNode / tasksOnNode(env))),
    memory: memoryOf(env),
    gpus: gpus === null ? null : gpus.split(",").map((id) => id.trim()).filter((id) => id !== ""),
    endTime: number("SLURM_JOB_END_TIME"),
    submitDir: text("SLURM_SUBMIT_DIR"),
  };
}

function wholeNumber(text: string | undefined): number | null {
  return text !== undefined && /^[0-9]{1,15}$/.test(text.trim()) ? Number(text) : null;
}

/** Number of srun's processes on this node. "2(x3),1": two on each of three nodes, then one. */
function tasksOnNode(env: Env): number {
  if (!env("SLURM_STEP_ID")) return 1; // the batch script is one process
  const counts = (env("SLURM_STEP_TASKS_PER_NODE") ?? "").split(",").flatMap((part) => {
    const [, tasks, nodes = "1"] = /^([0-9]+)(?:\(x([0-9]+)\))?$/.exec(part.trim()) ?? [];
    return tasks === undefined ? [] : Array<number>(Number(nodes)).fill(Number(tasks));
  });
  return Math.max(1, counts[wholeNumber(env("SLURM_NODEID")) ?? 0] ?? 1);
}

/** Memory of the job on this node in bytes. SLURM counts in MiB; 0 means all memory of the node. */
function memoryOf(env: Env): number | null {
  const multiple = (variable: string, count: number | null) => {
    const size = wholeNumber(env(variable));
    return size === null || size === 0 || count === null ? null : size * count * 2 ** 20;
  };
  return multiple("SLURM_MEM_PER_NODE", 1) ??
    multiple("SLURM_MEM_PER_CPU", wholeNumber(env("SLURM_CPUS_ON_NODE"))) ??
    multiple("SLURM_MEM_PER_GPU", wholeNumber(env("SLURM_GPUS_ON_NODE")));
}

/** The position of this process among several that were started together. */
export interface ProcessLayout {
  rank: number;
  size: number;
  /** The variable that `size` was read from. */
  from: string;
}

/**
 * The variables of launchers, innermost first: mpirun may run within an allocation and then starts
 * the processes. SLURM_PROCID alone does not show several processes: a batch script has it too.
 */
const LAUNCHERS = [
  { size: "OMPI_COMM_WORLD_SIZE", rank: "OMPI_COMM_WORLD_RANK" },
  { size: "PMI_SIZE", rank: "PMI_RANK" },
  { size: "SLURM_STEP_NUM_TASKS", rank: "SLURM_PROCID" },
  { size: "WORLD_SIZE", rank: "RANK" },
] as const;

/** The layouts that launchers report, also layouts of a single process. */
export function launcherLayouts(env: Env = processEnv): ProcessLayout[] {
  return LAUNCHERS.flatMap(({ size: from, rank: rankFrom }) => {
    const size = wholeNumber(env(from)), rank = wholeNumber(env(rankFrom));
    if (size === null || rank === null) return [];
    if (from === "SLURM_STEP_NUM_TASKS" && !env("SLURM_STEP_ID")) return [];
    return [{ rank, size, from }];
  });
}

/** The layout of the processes; null when no launcher reports more than one. */
export function processLayout(env: Env = processEnv): ProcessLayout | null {
  return launcherLayouts(env).find(({ size }) => size > 1) ?? null;
}
