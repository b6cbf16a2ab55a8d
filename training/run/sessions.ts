/**
 * The sessions of a run, in `run.json`: when, where and in which job it was started, and how each
 * session ended. Restarts of a job that make no progress are counted and limited, because a job
 * that is requeued each time would otherwise run forever.
 */
import { RgxError } from "../../core/errors.ts";
import type { SlurmJob } from "../../core/machine/job.ts";
import type { RunState } from "../checkpoint/run_state.ts";

/** Format of run.json; increased when the meaning of its fields changes. */
export const RUN_FORMAT = 1;

export interface Session {
  /** ISO 8601 */
  start: string;
  /** null while it runs, and if it was killed. */
  end: string | null;
  status: "running" | "completed" | "stopped" | "failed" | "killed";
  /** What ended it: the signal, the time limit, the error. */
  reason: string | null;
  host: string;
  pid: number;
  /** Id of the SLURM job, and how often that job was requeued. */
  job: string | null;
  restart: number | null;
  /** The progress at its start and end: "the beginning", "GRPO step 12". */
  from: string;
  to: string | null;
}

/**
 * Maximum number of starts of a job in a row without progress. The scripts of `rgx slurm` count by
 * themselves and give up sooner; this limit is for other scripts, and for clusters that requeue
 * jobs by themselves.
 */
export const MAX_STALLED_RESTARTS = 20;

/** The sessions in run.json; entries of another form are left out. */
export function readSessions(run: Record<string, unknown> | null): Session[] {
  const found = run?.["sessions"];
  if (!Array.isArray(found)) return [];
  return found.filter((session): session is Session =>
    typeof session === "object" && session !== null && typeof session.start === "string" &&
    typeof session.from === "string"
  );
}

/** The progress of a run, in words. */
export function progressText(state: RunState | null): string {
  if (state === null) return "the beginning";
  const { phase, warmStartStep, step } = state;
  if (phase === "grpo") return `GRPO step ${step}`;
  return warmStartStep === 0 ? "the beginning" : `supervised step ${warmStartStep}`;
}

/** How many starts of this job in a row, before this one, began with the same progress. */
export function stalledRestarts(
  earlier: readonly Session[],
  job: SlurmJob | null,
  from: string,
): number {
  if (job === null) return 0;
  const restarts = new Set<number>();
  for (const session of earlier.toReversed()) {
    if (session.job !== job.id || session.from !== from) break;
    // Sessions that a person starts within one start of the job are not a loop.
    if (session.restart !== null && session.restart < job.restarts) restarts.add(session.restart);
  }
  return restarts.size;
}

/** Whether this job was requeued after it has worked on the run before. */
export function isRequeuedRestart(
  run: Record<string, unknown> | null,
  job: SlurmJob | null,
): boolean {
  return job !== null && job.restarts > 0 &&
    readSessions(run).some(({ job: id, restart }) =>
      id === job.id && restart !== null && restart < job.restarts
    );
}

/** @throws RgxError when this job was restarted too often without progress */
export function addSession(
  run: Record<string, unknown> | null,
  job: SlurmJob | null,
  from: string,
): { sessions: Session[]; stalled: number } {
  const earlier = readSessions(run).map((session) =>
    session.status === "running" ? { ...session, status: "killed" as const } : session
  );
  const stalled = stalledRestarts(earlier, job, from);
  if (stalled >= MAX_STALLED_RESTARTS) {
    throw new RgxError(
      `job ${job!.id} was started ${stalled} times in a row at ${from} and came no further`,
      {
        advice: "Give it more time (sbatch --time, an earlier --signal), or make steps and " +
          "evaluations smaller; a new job with --resume goes on.",
      },
    );
  }
  const session: Session = {
    start: new Date().toISOString(),
    end: null,
    status: "running",
    reason: null,
    host: Deno.hostname(),
    pid: Deno.pid,
    job: job?.id ?? null,
    restart: job?.restarts ?? null,
    from,
    to: null,
  };
  return { sessions: [...earlier, session], stalled };
}
