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
import type { TrainControl } from "../training/run/trainer_options.ts";
import { onSignals } from "./signals.ts";
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
  /** Seconds until the end of the job; the run stops before. Null: the end is not known. */
  jobEnds(seconds: number | null): void;
  /**
   * All work is done and the process is about to end. From now on a signal does not change its exit
   * code. The listeners stay: without them a signal would end the process at once, and finished
   * work would look lost.
   */
  ended(): void;
  /** Removes the listeners. For a process that continues. */
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
/** The signals that ask the process to stop. */
const COUNTING = SIGNALS.filter((signal) => signal !== "SIGHUP" || !HANGUP_IGNORED);

let early: (() => void) | null = null;

/**
 * Listens until `listenForStop` is called, so that a signal ends the process with the same code
 * (75) while the program is still loading.
 */
export function listenEarly(): void {
  early = onSignals(COUNTING, () => Deno.exit(EXIT.resumable));
}

/** Ends what `listenEarly` began, where others listen now. */
export function listenNoMore(): void {
  early?.();
  early = null;
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
  plan = "finishing the work under way, then saving a checkpoint",
  quiet = false,
): StopControl {
  const say = quiet ? () => {} : log;
  let reason: string | null = null, first: Deno.Signal | null = null;
  let begun = false, saving = false, isOver = false;
  const inJob = slurmJob() !== null;
  const watch = watchSignals(COUNTING);
  /** Whether a second signal ends the process at once. */
  const ends = (signal: Deno.Signal) => !inJob || signal === "SIGINT";
  const heard = (signal: Deno.Signal) => {
    // Without a listener, SIGHUP would end the process anyway.
    if (isOver || !COUNTING.includes(signal)) return;
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
  const stopListening = onSignals(SIGNALS, heard);
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
      // A pause of the process counts, because mostly the job does not end later.
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
      stopListening();
      watch.close();
    },
  };
}

/** Milliseconds between two ticks of the clock, and the longest that one of them counts. */
const TICK = 250, LONGEST_TICK = 1000;

/**
 * The code of the Worker. Its message is [the first signal, the seconds so far, names of signals],
 * the first two in shared memory.
 */
const LISTENER = `onmessage = ({ data: [first, seconds, signals] }) => {
  signals.forEach((signal, i) =>
    Deno.addSignalListener(signal, () => Atomics.compareExchange(first, 0, 0, i + 1)));
  let last = performance.now();
  setInterval(() => {
    const now = performance.now();
    seconds[0] += Math.min(now - last, ${LONGEST_TICK}) / 1000;
    last = now;
  }, ${TICK});
};`;

interface SignalWatch {
  /** The first signal that arrived, or null. The call costs next to nothing. */
  first(): Deno.Signal | null;
  /** Time since the Worker has started in which the process could run. */
  seconds(): number;
  close(): void;
}

/**
 * Notices signals while the program computes. Deno calls signal listeners only when the event loop
 * turns, which it does not during a forward or backward pass. So a Worker, whose event loop is
 * idle, listens too and writes the number of the first signal into shared memory. It takes a moment
 * to start.
 *
 * It also counts the time in which the process could run. Most of a pause of all threads (SLURM's
 * `scontrol suspend`, Ctrl-Z) is not counted, as one tick counts as `LONGEST_TICK` at most.
 */
function watchSignals(signals: readonly Deno.Signal[]): SignalWatch {
  const first = new Int32Array(new SharedArrayBuffer(4));
  const seconds = new Float64Array(new SharedArrayBuffer(8));
  const worker = new Worker(`data:text/javascript,${encodeURIComponent(LISTENER)}`, {
    type: "module",
    name: "signals",
  });
  worker.postMessage([first, seconds, signals]);
  return {
    first() {
      const number = Atomics.load(first, 0);
      return number === 0 ? null : signals[number - 1]!;
    },
    seconds: () => seconds[0]!,
    close: () => worker.terminate(),
  };
}
