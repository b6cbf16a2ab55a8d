/**
 * How a run is asked to stop: by a signal or by a time limit, its own or that of the job it is in. The first
 * request lets the trainer end what is under way and save (exit 75); a second signal ends the process at once
 * (130 or 143), while a checkpoint is being written only one of the same kind. In a job of SLURM only Ctrl-C does:
 * the scheduler sends its warnings twice, and ends what does not end in time by itself.
 */
import { EXIT, UsageError } from "../core/errors.ts";
import { slurmJob } from "../core/machine/job.ts";
import type { TrainControl } from "../training/run/train_control.ts";
import { watchSignals } from "./signal_watch.ts";
import { log } from "./terminal/terminal.ts";

/** SIGHUP counts too, unless the process was started with nohup. */
const SIGNALS: readonly Deno.Signal[] = Deno.build.os === "windows"
  ? ["SIGINT", "SIGBREAK"]
  : ["SIGINT", "SIGTERM", "SIGUSR1", "SIGUSR2", "SIGHUP"];

/** Seconds before the end of a job, at most this share of what was left, in which a checkpoint is written. */
const RESERVE = 120, RESERVE_SHARE = 0.25;

export interface StopControl extends TrainControl {
  /** Why the run was asked to stop, or null. */
  readonly reason: string | null;
  /** From now on there is something to save. */
  begin(): void;
  /** The job ends in so many seconds: stop in time before. Null: it does not say. */
  jobEnds(seconds: number | null): void;
  /**
   * All is done and the process about to end: from now on a signal does not change the code that it ends with. The
   * listeners stay, for without them a signal would end it at once, and finished work would look lost.
   */
  ended(): void;
  /** Removes the listeners, where the process goes on. */
  close(): void;
}

/** Seconds in `HH:MM:SS`. @throws UsageError */
export function parseDuration(text: string): number {
  const match = /^(\d+):([0-5]\d):([0-5]\d)$/.exec(text);
  if (!match) {
    throw new UsageError(`--max-time ${text}: expected HH:MM:SS, for example 03:55:00`);
  }
  return Number(match[1]) * 3600 + Number(match[2]) * 60 + Number(match[3]);
}

/** Seconds that a run in a job may take which ends in so many. */
export function usableSeconds(left: number): number {
  return left - Math.min(RESERVE, RESERVE_SHARE * left);
}

/** Whether SIGHUP is ignored, as under nohup (bit 0 of SigIgn; elsewhere than on Linux: no). */
function ignoresHangup(): boolean {
  try {
    const ignored = /^SigIgn:\s*([0-9a-f]+)$/m.exec(Deno.readTextFileSync("/proc/self/status"));
    return ignored !== null && (Number.parseInt(ignored[1]!.slice(-2), 16) & 1) === 1;
  } catch {
    return false; // no /proc
  }
}

/** Asked before anything listens: Deno takes over SIGHUP with the first listener to any signal. */
const HANGUP_IGNORED = ignoresHangup();

let early: (() => void) | null = null;

/** Until `listenForStop`: a signal that comes while the program is loading ends it as one that comes soon after. */
export function listenEarly(): void {
  const counting = SIGNALS.filter((signal) => signal !== "SIGHUP" || !HANGUP_IGNORED);
  const end = () => Deno.exit(EXIT.resumable);
  for (const signal of counting) Deno.addSignalListener(signal, end);
  early = () => {
    for (const signal of counting) Deno.removeSignalListener(signal, end);
    early = null;
  };
}

/**
 * Listens from now on. `maxSeconds` counts from now as well. Until `begin` a signal ends the process at once (75):
 * loading a large model takes longer than a job has after its warning, and nothing would be lost.
 * @param plan what is done before the end, in words
 */
export function listenForStop(
  maxSeconds: number | null,
  plan = "ending what is under way, then saving a checkpoint",
): StopControl {
  let reason: string | null = null, first: Deno.Signal | null = null;
  let begun = false, saving = false, isOver = false;
  const inJob = slurmJob() !== null;
  const counting = SIGNALS.filter((signal) => signal !== "SIGHUP" || !HANGUP_IGNORED);
  const watch = watchSignals(counting);
  /** Whether a second one ends the process at once. */
  const ends = (signal: Deno.Signal) => !inJob || signal === "SIGINT";
  const heard = (signal: Deno.Signal) => {
    // Without a listener, SIGHUP would end the process all the same.
    if (isOver || !counting.includes(signal)) return;
    if (!begun) {
      log(`${signal}: ending; nothing has begun yet`);
      Deno.exit(EXIT.resumable);
    }
    reason ??= signal;
    if (first === null) {
      first = signal;
      return log(`${signal}: ${plan}${ends(signal) ? " (again: end at once)" : ""}`);
    }
    if (!ends(signal)) return;
    if (saving && signal !== first) {
      log(`${signal}: the checkpoint is being written (${first} again: end at once)`);
      return;
    }
    log(`${signal} again: ending at once, nothing new is saved`);
    Deno.exit(signal === "SIGINT" ? EXIT.sigint : EXIT.sigterm);
  };
  const handlers = SIGNALS.map((signal) => {
    const handler = () => heard(signal);
    Deno.addSignalListener(signal, handler);
    return { signal, handler };
  });
  early?.();
  const after = (seconds: number) => performance.now() + seconds * 1000;
  let limit = { at: maxSeconds === null ? Infinity : after(maxSeconds), why: "the time limit" };
  return {
    get reason() {
      return reason ?? watch.first();
    },
    begin() {
      begun = true;
    },
    jobEnds(seconds) {
      if (seconds === null) return;
      const at = after(usableSeconds(seconds));
      if (at < limit.at) limit = { at, why: "the end of the job" };
    },
    stopRequested() {
      // Asked before every operation of a device, most often without a limit: the clock would be what costs.
      if (reason === null && limit.at < Infinity && performance.now() >= limit.at) {
        reason = limit.why;
        log(`${limit.why}: ${plan}`);
      }
      return reason === null && watch.first() === null ? "no" : "save";
    },
    saving(now) {
      saving = now;
    },
    ended() {
      isOver = true;
      watch.close();
    },
    close() {
      for (const { signal, handler } of handlers) Deno.removeSignalListener(signal, handler);
      watch.close();
    },
  };
}
