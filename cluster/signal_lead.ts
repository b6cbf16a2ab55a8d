/**
 * SLURM's signal lead: how many seconds before its time limit a job gets the signal to save its
 * state (`#SBATCH --signal=B:USR2@SECONDS`, set by `--warn`).
 */
import { UsageError } from "../core/errors.ts";
import type { TimeLimit } from "../configs/types/slurm_values.ts";

/** The lead in seconds of long jobs. */
const DEFAULT_SIGNAL_LEAD_SECONDS = 600;
/** The maximum that SLURM accepts for `--signal`. */
const MAX_SIGNAL_LEAD_SECONDS = 65535;

/** A shorter lead may be over before SLURM looks at the clock. */
const SHORT_SIGNAL_LEAD_SECONDS = 60;

/**
 * Reads the value of `--warn`: seconds, or as sbatch's `--signal` has it, `B:USR2@SECONDS`.
 * @throws UsageError
 */
export function parseSignalLead(text: string): number {
  const [, signal, seconds] = /^(?:(?:[BR]{1,2}:)?(?:SIG)?([A-Z0-9]+)@)?(\d{1,6})$/i.exec(text) ??
    [];
  if (seconds === undefined || Number(seconds) === 0) {
    throw new UsageError(`--warn ${text}: expected seconds, as in --warn 600`, {
      advice: "So long before its time limit the job gets a signal and saves.",
    });
  }
  if (signal !== undefined && !/^(?:USR2|12)$/i.test(signal)) {
    throw new UsageError(`--warn ${text}: the script waits for USR2`, {
      advice: `--warn ${seconds} is enough; it stands for --signal=B:USR2@${seconds}.`,
    });
  }
  return Number(seconds);
}

export function signalLeadNotes(given: number | null): string[] {
  if (given === null || given >= SHORT_SIGNAL_LEAD_SECONDS) return [];
  return [
    `--warn ${given}: in ${given} seconds the step under way must end and a checkpoint be ` +
    "written, or the job is killed and loses what came after the last one; SLURM looks at the " +
    "clock every 30 seconds",
  ];
}

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
