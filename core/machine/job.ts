/**
 * What the scheduler says in the environment about the job that this process is in, and how many processes were
 * started together. The one place that reads these variables (limits of the kernel's: cgroup.ts). None of them
 * is guaranteed, and what is no number counts as absent: a job must not fail for a variable that it could do
 * without.
 */

/** One environment variable; "" counts as absent. */
export type Env = (name: string) => string | undefined;

/** This process's own environment. */
export const processEnv: Env = (name) => Deno.env.get(name);

/** What SLURM says. Sizes in bytes. */
export interface SlurmJob {
  /** As squeue and scontrol name it: 123, or 123_4 for a task of an array. */
  id: string;
  name: string | null;
  partition: string | null;
  /** Compressed, as SLURM writes it: n[1-3]. */
  nodeList: string | null;
  /** This node as SLURM names it; null where the process is not on a node of the job (a login shell of salloc). */
  node: string | null;
  nodes: number | null;
  tasks: number | null;
  array: { job: string; task: number; count: number | null } | null;
  /** How often it was requeued. */
  restarts: number;
  cpusPerTask: number | null;
  /** Of this process's share where several tasks are on the node. */
  cpusOnNode: number | null;
  /** Of the job on this node; null: no limit is told. */
  memory: number | null;
  /** Numbers of the cards of this node that the job was given; null: none is told. */
  gpus: string[] | null;
  /** Seconds since 1970; older versions do not say it. */
  endTime: number | null;
  submitDir: string | null;
}

/** The job, or null outside of one. */
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
    // The last task's SLURM_JOB_ID is the array's own, which would name all tasks.
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

/** Processes that srun starts on this node: "2(x3),1" says two on each of three nodes and one on the next. */
function tasksOnNode(env: Env): number {
  if (!env("SLURM_STEP_ID")) return 1; // the batch script is one process
  const counts = (env("SLURM_STEP_TASKS_PER_NODE") ?? "").split(",").flatMap((part) => {
    const [, tasks, nodes = "1"] = /^([0-9]+)(?:\(x([0-9]+)\))?$/.exec(part.trim()) ?? [];
    return tasks === undefined ? [] : Array<number>(Number(nodes)).fill(Number(tasks));
  });
  return Math.max(1, counts[wholeNumber(env("SLURM_NODEID")) ?? 0] ?? 1);
}

/** SLURM counts in MB of 2^20 bytes; 0 means all that the node has. */
function memoryOf(env: Env): number | null {
  const of = (each: string, count: number | null) => {
    const size = wholeNumber(env(each));
    return size === null || size === 0 || count === null ? null : size * count * 2 ** 20;
  };
  return of("SLURM_MEM_PER_NODE", 1) ??
    of("SLURM_MEM_PER_CPU", wholeNumber(env("SLURM_CPUS_ON_NODE"))) ??
    of("SLURM_MEM_PER_GPU", wholeNumber(env("SLURM_GPUS_ON_NODE")));
}

/** One of several processes that were started together. */
export interface ProcessLayout {
  rank: number;
  size: number;
  /** The variable that says so. */
  from: string;
}

/**
 * Launchers, the innermost first: mpirun within an allocation starts its own processes. SLURM_PROCID alone says
 * nothing, because a batch script has it too.
 */
const LAUNCHERS = [
  { size: "OMPI_COMM_WORLD_SIZE", rank: "OMPI_COMM_WORLD_RANK" },
  { size: "PMI_SIZE", rank: "PMI_RANK" },
  { size: "SLURM_STEP_NUM_TASKS", rank: "SLURM_PROCID" },
  { size: "WORLD_SIZE", rank: "RANK" },
] as const;

/** Null where nobody says that there are several. */
export function processLayout(env: Env = processEnv): ProcessLayout | null {
  for (const { size, rank } of LAUNCHERS) {
    const count = wholeNumber(env(size)), number = wholeNumber(env(rank));
    if (count === null || number === null) continue;
    if (size === "SLURM_STEP_NUM_TASKS" && !env("SLURM_STEP_ID")) continue;
    if (count > 1) return { rank: number, size: count, from: size };
  }
  return null;
}
