/**
 * What the doctor says inside a job: what SLURM granted, what this process can use of it, and what
 * does not agree.
 */
import { grantedCores, kernelLimits } from "../../core/machine/cgroup.ts";
import { duration } from "../../core/duration.ts";
import { type Env, processEnv, processLayout, slurmJob } from "../../core/machine/job.ts";
import { type MemoryRoom, memoryRoom } from "../../core/machine/memory.ts";
import { jobMemory, secondsLeft } from "../../core/machine/slurm_queue.ts";
import { defaultThreads } from "../../kernels/devices/wasm/threads.ts";

export interface JobReport {
  id: string;
  name: string | null;
  partition: string | null;
  /** The name of this node in SLURM; null: this process is not on a node of the job. */
  node: string | null;
  node_list: string | null;
  restarts: number;
  array: { job: string; task: number; count: number | null } | null;
  tasks: number | null;
  /** Null: the job has no time limit, or it is not known. */
  seconds_left: number | null;
  /** Cores that the job has for this process, and threads that the wasm device uses. */
  cpus: number | null;
  threads: number;
  /** Cores that the affinity mask and the quota leave to this process. */
  usable_cpus: number;
  /** Memory of the job on this node in bytes; null: SLURM does not limit it, or does not tell. */
  memory_bytes: number | null;
  /**
   * GPUs that SLURM granted, and GPUs that the environment lets this process see; null: not known.
   */
  gpus: string[] | null;
  visible_gpus: string[] | null;
}

/** Variables that limit the GPUs that a process sees. */
const VISIBLE = ["CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"];

/** The report, or null outside of a job. */
export async function jobReport(env: Env = processEnv): Promise<JobReport | null> {
  const job = slurmJob(env);
  if (job === null) return null;
  const visible = VISIBLE.map(env).find((value) => value !== undefined);
  return {
    id: job.id,
    name: job.name,
    partition: job.partition,
    node: job.node,
    node_list: job.nodeList,
    restarts: job.restarts,
    array: job.array,
    tasks: job.tasks,
    seconds_left: await secondsLeft(job),
    cpus: job.cpusPerTask ?? job.cpusOnNode,
    threads: defaultThreads(env),
    usable_cpus: grantedCores(kernelLimits()),
    memory_bytes: await jobMemory(job),
    gpus: job.gpus,
    visible_gpus: visible === undefined ? null : list(visible),
  };
}

/** A list of GPUs. SLURM writes "NoDevFiles" when there is none. */
function list(text: string): string[] {
  return text.split(",").map((id) => id.trim())
    .filter((id) => id !== "" && id !== "-1" && id !== "NoDevFiles");
}

const gib = (bytes: number) => `${(bytes / 2 ** 30).toFixed(1)} GiB`;

export function jobRows(job: JobReport, { by, bytes }: MemoryRoom): string[][] {
  const where = [
    job.name === null ? null : `"${job.name}"`,
    job.partition === null ? null : `partition ${job.partition}`,
    job.node === null ? job.node_list : `node ${job.node}`,
    job.restarts === 0 ? null : `restarted ${job.restarts} times`,
  ].filter((part) => part !== null);
  const gpus = job.gpus === null ? "none given" : `${job.gpus.length}: ${job.gpus.join(", ")}`;
  const visible = job.visible_gpus === null ? "" : `, visible as ${job.visible_gpus.join(", ")}`;
  const limit = by === "cgroup" ? "cgroup" : "machine";
  return [
    ["job", [job.id, ...where].join(", ")],
    [
      "job cores",
      `${job.cpus ?? "not known"}, ${job.usable_cpus} usable, ${job.threads} threads`,
    ],
    [
      "job memory",
      (job.memory_bytes === null ? "no limit known" : gib(job.memory_bytes)) +
      (by === "job" ? "" : `; the ${limit} leaves ${gib(bytes)}`),
    ],
    ["job GPUs", gpus + visible],
    ["job time", job.seconds_left === null ? "not known" : `${duration(job.seconds_left)} left`],
  ];
}

/**
 * Advice about what does not agree.
 * @param cards whether the adapter is a graphics card
 */
export function jobAdvice(job: JobReport, cards: boolean, env: Env = processEnv): string[] {
  const advice: string[] = [];
  const { cpus, usable_cpus: usable, gpus, visible_gpus: visible } = job;
  if (job.node === null) {
    advice.push(
      `this shell is not on a node of job ${job.id}: start what computes with srun ` +
        "(srun --pty bash for a shell)",
    );
    return advice;
  }
  if (cpus !== null && usable < cpus) {
    advice.push(
      `the job has ${cpus} cores for this process, but it may use ${usable}: mpirun binds a ` +
        "process to one core (--bind-to none), and srun needs --cpus-per-task too " +
        "(export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK)",
    );
  }
  const isRank = processLayout(env) !== null;
  if (!isRank && (job.tasks ?? 1) > 1) {
    advice.push(
      `the job has ${job.tasks} tasks, and this is one process: srun --mpi=pmix (or pmi2) starts ` +
        "a rank of the run for each; for a run of one process, sbatch --ntasks=1 is enough",
    );
  }
  const given = gpus?.length ?? 0;
  if (given > 1 && !isRank && (job.tasks ?? 1) === 1) {
    advice.push(
      `the job has ${given} GPUs, and one process uses one: --ntasks-per-node=${given} and srun ` +
        "--mpi=pmix start a rank for each (rgx slurm --gpus writes it), --gres=gpu:1 leaves the " +
        "others to others",
    );
  }
  if (given > 0 && !cards) {
    advice.push(
      "the job was given a GPU, but no graphics card is found on this node " +
        "(see the lines on the GPU)",
    );
  }
  if (given === 0 && cards && (visible?.length ?? 0) === 0) {
    advice.push(
      "a graphics card is visible that the job was not given: ask for one (--gres=gpu:1), " +
        "or use --device wasm",
    );
  }
  if (given > 0 && visible !== null && visible.length !== given) {
    advice.push(
      `SLURM gave ${given} GPUs (${
        gpus!.join(", ")
      }), this process is told to see ${visible.length} ` +
        `(${visible.join(", ") || "none"}): CUDA_VISIBLE_DEVICES was changed`,
    );
  }
  if (job.memory_bytes === null && memoryRoom().by === "machine") {
    advice.push(
      "nothing limits the job's memory: say what it needs (--mem), or others may lack it",
    );
  }
  return advice;
}
