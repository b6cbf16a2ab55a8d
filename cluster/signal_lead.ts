/**
 * SLURM's signal lead: how many seconds before its time limit a job gets the signal to save its
 * state (`#SBATCH --signal=B:USR2@SECONDS`, set by `--warn`).
 */
import { UsageError } from "../core/errors.ts";
import type { TimeLimit } from "./slurm_values.ts";

/** The lead of jobs that are long enough for it. */
const DEFAULT_SIGNAL_LEAD_SECONDS = 600;
/** The maximum that SLURM accepts for `--signal`. */
const MAX_SIGNAL_LEAD_SECONDS = 65535;

/**
 * The signal lead of a job. The default is 600 seconds. For time limits below 40 minutes it is a
 * quarter of the limit, but at least a minute, and at most half of the limit. SLURM checks the time
 * every 30 seconds and may send the signal up to a minute early. If the lead were as long as the
 * limit, every job would get the signal at the first check.
 * @param given the value of `--warn`, or null for the default
 * @throws UsageError when the given lead is too long
 */
export function signalLeadSeconds(limit: TimeLimit, given: number | null): number {
  const half = Math.floor(limit.seconds / 2);
  if (given === null) {
    const quarter = Math.floor(limit.seconds / 4);
    return Math.min(DEFAULT_SIGNAL_LEAD_SECONDS, half, Math.max(quarter, 60));
  }
  const max = Math.min(MAX_SIGNAL_LEAD_SECONDS, half);
  if (given <= max) return given;
  throw new UsageError(
    `--warn ${given}: with --time ${limit.text} expected at most ${max} seconds`,
    {
      advice:
        "A job that is warned in the first half of its time does little else than save. It takes " +
        "the time of one step and of one checkpoint, and a minute.",
    },
  );
}
