/**
 * The sessions of a run, in `run.json`: every start of it, where, in which job, and how it ended.
 * Restarts of a job that come no further are counted, since a job that is put back into the queue
 * each time would go on for ever.
 */
import { RgxError } from "../../core/errors.ts";
import type { SlurmJob } from "../../core/machine/job.ts";
import type { RunState } from "../checkpoint/run_state.ts";

export interface Session {
  /** ISO 8601 */
  start: string;
  /** Null while it runs, and of one that was killed. */
  end: string | null;
  status: "running" | "completed" | "stopped" | "failed" | "killed";
  /** What ended it: the signal, the limit, the error. */
  reason: string | null;
  host: string;
  pid: number;
  /** Id of SLURM's job, and how often that was requeued. */
  job: string | null;
  restart: number | null;
  /** Where it began and ended: "the beginning", "GRPO step 12". */
  from: string;
  to: string | null;
}

/**
 * Starts of a job in a row that may come no further, until the next one is refused. Scripts of rgx
 * slurm count for themselves and give up sooner; this is for others, and for clusters that put jobs
 * back by themselves.
 */
export const MAX_STALLED_RESTARTS = 20;

/** Those that run.json holds; none of what it does not hold in this form. */
export function readSessions(run: Record<string, unknown> | null): Session[] {
  const found = run?.["sessions"];
  if (!Array.isArray(found)) return [];
  return found.filter((session): session is Session =>
    typeof session === "object" && session !== null && typeof session.start === "string" &&
    typeof session.from === "string"
  );
}

/** Where a run stands, in words. */
export function standing(state: RunState | null): string {
  if (state === null) return "the beginning";
  const { phase, warmStartStep, step } = state;
  if (phase === "grpo") return `GRPO step ${step}`;
  return warmStartStep === 0 ? "the beginning" : `supervised step ${warmStartStep}`;
}

/** How many starts of this job in a row, before this one, began where it begins. */
export function stalledRestarts(
  earlier: readonly Session[],
  job: SlurmJob | null,
  from: string,
): number {
  if (job === null) return 0;
  const restarts = new Set<number>();
  for (const session of earlier.toReversed()) {
    if (session.job !== job.id || session.from !== from) break;
    // What a person starts again and again within one start of the job is no loop.
    if (session.restart !== null && session.restart < job.restarts) restarts.add(session.restart);
  }
  return restarts.size;
}

/** Whether this job was requeued and has been at work on the run before. */
export function isOwnRestart(run: Record<string, unknown> | null, job: SlurmJob | null): boolean {
  return job !== null && job.restarts > 0 &&
    readSessions(run).some(({ job: id, restart }) =>
      id === job.id && restart !== null && restart < job.restarts
    );
}

/**
 * The earlier sessions and one that begins now.
 * @throws RgxError when this job was restarted again and again without coming further
 */
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
