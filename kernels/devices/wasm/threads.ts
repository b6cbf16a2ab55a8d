/** How many threads the CPU device uses: what the user asks for, else what the process may use. */
import { grantedCores } from "../../../core/machine/cgroup.ts";
import { UsageError } from "../../../core/errors.ts";
import { type Env, processEnv, slurmJob } from "../../../core/machine/job.ts";

export const MOST_THREADS = 1024;

/**
 * The number of threads: RGX_NUM_THREADS, then SLURM's (SLURM_CPUS_PER_TASK, which only -c sets, else this
 * process's share of SLURM_CPUS_ON_NODE), then OMP_NUM_THREADS, then the cores that affinity mask and quota grant.
 * @throws UsageError when RGX_NUM_THREADS is no positive whole number; the other programs' variables
 * are ignored when they hold something else (OMP_NUM_THREADS may be a list).
 */
export function defaultThreads(
  env: Env = processEnv,
  available: number = grantedCores(),
): number {
  const own = env("RGX_NUM_THREADS");
  if (own !== undefined && own !== "") {
    const threads = threadCount(own);
    if (threads !== null) return threads;
    throw new UsageError(
      `RGX_NUM_THREADS is "${own}"; expected a whole number from 1 to ${MOST_THREADS}`,
    );
  }
  const job = slurmJob(env);
  return threadCount(env("SLURM_CPUS_PER_TASK")) ?? threadCount(job?.cpusOnNode) ??
    threadCount(env("OMP_NUM_THREADS")) ?? Math.max(1, available);
}

function threadCount(text: string | number | null | undefined): number | null {
  const threads = text === "" ? NaN : Number(text ?? NaN);
  return Number.isInteger(threads) && threads >= 1 && threads <= MOST_THREADS ? threads : null;
}
