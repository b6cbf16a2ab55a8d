/**
 * Which launcher has started this process, as one of how many, and how the MPI library of that
 * launcher is called. Each launcher sets variables of its own; a library that does not understand
 * them makes every process rank 0 of 1, without an error.
 */
import { UsageError } from "../../../core/errors.ts";
import { type Env, processEnv } from "../../../core/machine/job.ts";

/** The two binary interfaces of MPI libraries. */
export type Abi = "Open MPI" | "MPICH";

export interface Launch {
  /** Number of ranks that the launcher has started. */
  size: number;
  rank: number;
  /** The variable that `size` is from. */
  from: string;
  /** The libraries that understand this launcher; null = unknown. */
  abi: Abi | null;
}

const number = (text: string | undefined): number | null =>
  text !== undefined && /^[0-9]{1,9}$/.test(text.trim()) ? Number(text) : null;

/**
 * The launch of this process as one of several ranks, or null when it was started alone.
 * @throws UsageError for variables of two launchers, and for a launcher without MPI
 */
export function launchOf(env: Env = processEnv): Launch | null {
  const read = (size: string, rank: string, abi: Abi | null): Launch | null => {
    const count = number(env(size)), own = number(env(rank));
    return count === null || own === null ? null : { size: count, rank: own, from: size, abi };
  };
  const openMpi = read("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "Open MPI");
  const mpich = read("PMI_SIZE", "PMI_RANK", "MPICH");
  if (openMpi !== null && mpich !== null) throw twoLaunchers(openMpi, mpich);
  const started = openMpi ?? mpich;
  if (started !== null) return alone(started);
  // srun; within its step, the launchers above start ranks of their own.
  const step = env("SLURM_STEP_ID") ? read("SLURM_STEP_NUM_TASKS", "SLURM_PROCID", null) : null;
  if (step !== null && step.size > 1) {
    if (number(env("PMIX_RANK")) !== null) return { ...step, abi: "Open MPI" };
    throw new UsageError(
      `srun has started ${step.size} processes without MPI: each would be alone`,
      {
        advice: "Start them with srun --mpi=pmix (Open MPI) or srun --mpi=pmi2 (MPICH, Intel " +
          "MPI); srun --mpi=list shows what this cluster has. One process: srun --ntasks=1.",
      },
    );
  }
  const torch = read("WORLD_SIZE", "RANK", null);
  if (torch !== null && torch.size > 1) {
    throw new UsageError(
      `WORLD_SIZE is ${torch.size}: a launcher such as torchrun has started this process`,
      {
        advice: "rgx starts ranks by MPI: rgx … --ranks N, mpirun -np N rgx …, or srun " +
          "--mpi=pmix rgx …. One process: unset WORLD_SIZE.",
      },
    );
  }
  return null;
}

function alone(launch: Launch): Launch | null {
  return launch.size > 1 ? launch : null;
}

function twoLaunchers(a: Launch, b: Launch): UsageError {
  return new UsageError(
    `two launchers have started this process: ${a.from}=${a.size} (Open MPI) and ` +
      `${b.from}=${b.size} (MPICH)`,
    {
      advice: "One launcher was started within the other, or its variables are left over. Start " +
        "rgx with one of mpirun, mpiexec and srun, in a shell without the variables of another.",
    },
  );
}
