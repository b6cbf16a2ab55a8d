/**
 * The number of threads of the CPU device: what the user requests, else what the process may use.
 */
import { grantedCores } from "../../../core/machine/cgroup.ts";
import { UsageError } from "../../../core/errors.ts";
import { type Env, processEnv, slurmJob } from "../../../core/machine/job.ts";

export const MAX_THREADS = 1024;

/**
 * The number of threads, from the first of these that is set: RGX_NUM_THREADS; SLURM_CPUS_PER_TASK
 * (which only -c sets), or this process's share of SLURM_CPUS_ON_NODE; OMP_NUM_THREADS; the cores
 * that the affinity mask and the quota grant.
 * @throws UsageError when RGX_NUM_THREADS is no positive integer. The variables of other programs
 *   are ignored when they are no number (OMP_NUM_THREADS may be a list)
 */
export function defaultThreads(
  env: Env = processEnv,
  available: number = grantedCores(),
): number {
  const requested = env("RGX_NUM_THREADS");
  if (requested !== undefined && requested !== "") {
    const threads = threadCount(requested);
    if (threads !== null) return threads;
    throw new UsageError(
      `RGX_NUM_THREADS is "${requested}"; expected a whole number from 1 to ${MAX_THREADS}`,
    );
  }
  const job = slurmJob(env);
  return threadCount(env("SLURM_CPUS_PER_TASK")) ?? threadCount(job?.cpusOnNode) ??
    threadCount(env("OMP_NUM_THREADS")) ?? Math.max(1, available);
}

function threadCount(text: string | number | null | undefined): number | null {
  const threads = text === "" ? NaN : Number(text ?? NaN);
  return Number.isInteger(threads) && threads >= 1 && threads <= MAX_THREADS ? threads : null;
}
