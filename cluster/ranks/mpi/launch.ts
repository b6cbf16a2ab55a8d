/**
 * Finds the launcher that has started this process, the number of processes, and the interface of
 * the launcher's MPI library. Each launcher sets variables of its own. With a library that does not
 * understand them, every process is rank 0 of 1, without an error.
 */
import { UsageError } from "../../../core/errors.ts";
import {
  type Env,
  launcherLayouts,
  processEnv,
  type ProcessLayout,
} from "../../../core/machine/job.ts";

export type Abi = "Open MPI" | "MPICH";

export interface Launch extends ProcessLayout {
  /** The libraries that understand this launcher; null = unknown. */
  abi: Abi | null;
}

/**
 * The launch of this process as one of several ranks, or null when it was started alone.
 * @throws UsageError for variables of two launchers, and for a launcher without MPI
 */
export function launchOf(env: Env = processEnv): Launch | null {
  const layouts = launcherLayouts(env);
  const read = (name: string, abi: Abi | null = null): Launch | null => {
    const found = layouts.find(({ from }) => from === name);
    return found === undefined ? null : { ...found, abi };
  };
  const openMpi = read("OMPI_COMM_WORLD_SIZE", "Open MPI"), mpich = read("PMI_SIZE", "MPICH");
  if (openMpi !== null && mpich !== null) throw twoLaunchers(openMpi, mpich);
  const started = openMpi ?? mpich;
  if (started !== null) return started.size > 1 ? started : null;
  // srun. It comes last, because within its step the launchers above may start ranks of their own.
  const step = read("SLURM_STEP_NUM_TASKS");
  if (step !== null && step.size > 1) {
    if (/^[0-9]{1,9}$/.test((env("PMIX_RANK") ?? "").trim())) return { ...step, abi: "Open MPI" };
    throw new UsageError(
      `srun has started ${step.size} processes without MPI: each would be alone`,
      {
        advice: "Start them with srun --mpi=pmix (Open MPI) or srun --mpi=pmi2 (MPICH, Intel " +
          "MPI); srun --mpi=list shows what this cluster has. One process: srun --ntasks=1.",
      },
    );
  }
  const torch = read("WORLD_SIZE");
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
