/**
 * How a run is asked to stop: by a signal, by its time limit, or by the end of the job that it is
 * in. After the first request the trainer finishes what is under way and saves (exit 75). A second
 * signal ends the process at once (130 or 143). Exceptions:
 * - While a checkpoint is written, it must be the same signal as the first.
 * - In a SLURM job only Ctrl-C counts as a second signal, because SLURM repeats its warnings and
 *   kills late jobs itself.
 */
import { EXIT, UsageError } from "../core/errors.ts";
import { slurmJob } from "../core/machine/job.ts";
import type { TrainControl } from "../training/run/train_control.ts";
import { watchSignals } from "./signal_watch.ts";
import { log } from "./terminal/terminal.ts";

/** SIGHUP is one of them, unless the process was started with nohup. */
const SIGNALS: readonly Deno.Signal[] = Deno.build.os === "windows"
  ? ["SIGINT", "SIGBREAK"]
  : ["SIGINT", "SIGTERM", "SIGUSR1", "SIGUSR2", "SIGHUP"];

/**
 * Time reserved for the checkpoint before the end of a job, in seconds, and its maximum share of
 * the time that was left.
 */
const RESERVE = 120, RESERVE_SHARE = 0.25;

export interface StopControl extends TrainControl {
  /** Why the run was asked to stop, or null. */
  readonly reason: string | null;
  /** Call it when there is something to save. */
  begin(): void;
  /** The job ends in this many seconds, so the run stops before. Null: the end is not known. */
  jobEnds(seconds: number | null): void;
  /**
   * All work is done and the process is about to end. From now on a signal does not change its exit
   * code. The listeners stay: without them a signal would end the process at once, and finished
   * work would look lost.
   */
  ended(): void;
  /** Removes the listeners, if the process goes on. */
  close(): void;
}

/** Parses `HH:MM:SS` into seconds. @throws UsageError */
export function parseDuration(text: string): number {
  const match = /^(\d+):([0-5]\d):([0-5]\d)$/.exec(text);
  if (!match) {
    throw new UsageError(`--max-time ${text}: expected HH:MM:SS, for example 03:55:00`);
  }
  return Number(match[1]) * 3600 + Number(match[2]) * 60 + Number(match[3]);
}

/** Seconds that a run may take in a job that ends in `left` seconds. */
export function usableSeconds(left: number): number {
  return left - Math.min(RESERVE, RESERVE_SHARE * left);
}

/** Whether SIGHUP is ignored, as under nohup (bit 0 of SigIgn). Always false except on Linux. */
function ignoresHangup(): boolean {
  try {
    const ignored = /^SigIgn:\s*([0-9a-f]+)$/m.exec(Deno.readTextFileSync("/proc/self/status"));
    return ignored !== null && (Number.parseInt(ignored[1]!.slice(-2), 16) & 1) === 1;
  } catch {
    return false; // no /proc
  }
}

/**
 * Read before any listener exists: Deno takes over SIGHUP with the first listener for any signal.
 */
const HANGUP_IGNORED = ignoresHangup();

let early: (() => void) | null = null;

/**
 * Listens until `listenForStop` is called, so that a signal ends the process with the same code
 * (75) while the program is still loading.
 */
export function listenEarly(): void {
  const counting = SIGNALS.filter((signal) => signal !== "SIGHUP" || !HANGUP_IGNORED);
  const end = () => Deno.exit(EXIT.resumable);
  for (const signal of counting) Deno.addSignalListener(signal, end);
  early = () => {
    for (const signal of counting) Deno.removeSignalListener(signal, end);
    early = null;
  };
}

/** Ends what `listenEarly` began, where others listen now. */
export function listenNoMore(): void {
  early?.();
}

/**
 * Starts to listen. `maxSeconds` is counted from now, too, without pauses of the process. Until
 * `begin` is called, a signal ends the process at once (75): loading a large model takes longer
 * than a job has after its warning, and nothing is lost.
 * @param plan what is done before the end, in words
 * @param quiet nothing is printed: another rank of the run says it
 */
export function listenForStop(
  maxSeconds: number | null,
  plan = "ending what is under way, then saving a checkpoint",
  quiet = false,
): StopControl {
  const say = quiet ? () => {} : log;
  let reason: string | null = null, first: Deno.Signal | null = null;
  let begun = false, saving = false, isOver = false;
  const inJob = slurmJob() !== null;
  const counting = SIGNALS.filter((signal) => signal !== "SIGHUP" || !HANGUP_IGNORED);
  const watch = watchSignals(counting);
  /** Whether a second signal ends the process at once. */
  const ends = (signal: Deno.Signal) => !inJob || signal === "SIGINT";
  const heard = (signal: Deno.Signal) => {
    // Without a listener, SIGHUP would end the process anyway.
    if (isOver || !counting.includes(signal)) return;
    if (!begun) {
      say(`${signal}: ending; nothing has begun yet`);
      Deno.exit(EXIT.resumable);
    }
    reason ??= signal;
    if (first === null) {
      first = signal;
      return say(`${signal}: ${plan}${ends(signal) ? " (again: end at once)" : ""}`);
    }
    if (!ends(signal)) return;
    if (saving && signal !== first) {
      say(`${signal}: the checkpoint is being written (${first} again: end at once)`);
      return;
    }
    say(`${signal} again: ending at once, nothing new is saved`);
    Deno.exit(signal === "SIGINT" ? EXIT.sigint : EXIT.sigterm);
  };
  const handlers = SIGNALS.map((signal) => {
    const handler = () => heard(signal);
    Deno.addSignalListener(signal, handler);
    return { signal, handler };
  });
  listenNoMore();
  const limits: { why: string; isOver: () => boolean }[] = [];
  if (maxSeconds !== null) {
    limits.push({ why: "the time limit", isOver: () => watch.seconds() >= maxSeconds });
  }
  return {
    get reason() {
      return reason ?? watch.first();
    },
    begin() {
      begun = true;
    },
    jobEnds(seconds) {
      if (seconds === null) return;
      // A pause counts: not everything that stops a process lets its job end later.
      const end = performance.now() + 1000 * usableSeconds(seconds);
      limits.push({ why: "the end of the job", isOver: () => performance.now() >= end });
    },
    stopRequested() {
      // This runs before every operation of a device. Mostly there is no limit, and then no clock,
      // which costs most, is read.
      const limit = reason === null ? limits.find(({ isOver }) => isOver()) : undefined;
      if (limit !== undefined) {
        reason = limit.why;
        say(`${reason}: ${plan}`);
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
