/** How many threads the CPU device uses: what the user asks for, else what the process may use. */
import { UsageError } from "../../core/errors.ts";

/** Environment variables that set the number, the first one present wins. */
const VARIABLES = ["RGX_NUM_THREADS", "SLURM_CPUS_PER_TASK", "OMP_NUM_THREADS"] as const;

const MOST_THREADS = 1024;

/**
 * The number of threads by environment, else by CPU affinity and quota.
 * @throws UsageError when RGX_NUM_THREADS is no positive whole number; the other programs' variables
 * are ignored when they hold something else (OMP_NUM_THREADS may be a list).
 */
export function defaultThreads(
  env: (name: string) => string | undefined = Deno.env.get,
  available: number = navigator.hardwareConcurrency,
): number {
  for (const name of VARIABLES) {
    const value = env(name);
    if (value === undefined || value === "") continue;
    const threads = Number(value);
    if (Number.isInteger(threads) && threads >= 1 && threads <= MOST_THREADS) return threads;
    if (name === "RGX_NUM_THREADS") {
      throw new UsageError(
        `${name} is "${value}"; expected a whole number from 1 to ${MOST_THREADS}`,
      );
    }
  }
  return Math.max(1, available);
}
