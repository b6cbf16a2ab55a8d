/**
 * How a run is asked to stop: by a signal or by a time limit. The first request lets the trainer finish
 * its step and save (exit 75); a second signal ends the process at once (130 or 143), while a checkpoint
 * is being written only one of the same kind.
 */
import { EXIT, UsageError } from "../core/errors.ts";
import type { TrainControl } from "../training/control.ts";
import { log } from "./terminal.ts";

/** SIGHUP counts too, unless the process was started with nohup. */
const SIGNALS = ["SIGINT", "SIGTERM", "SIGUSR1", "SIGUSR2", "SIGHUP"] as const;

export interface StopControl extends TrainControl {
  /** Why the run was asked to stop, or null. */
  readonly reason: string | null;
  /** Removes the listeners and the timer. */
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

/**
 * Listens from now on. `maxSeconds` counts from now as well.
 * @param plan what is done before the end, in words
 */
export function listenForStop(
  maxSeconds: number | null,
  plan = "finishing this step, then saving a checkpoint",
): StopControl {
  let reason: string | null = null, saving = false;
  const handlers = SIGNALS
    .map((signal) => {
      const handler = () => {
        // Without a listener, SIGHUP would end the process all the same.
        if (signal === "SIGHUP" && HANGUP_IGNORED) return;
        if (reason !== null && reason !== "the time limit") {
          if (saving && signal !== reason) {
            log(`${signal}: the checkpoint is being written (${reason} again: end at once)`);
            return;
          }
          log(`${signal} again: ending at once, nothing new is saved`);
          Deno.exit(signal === "SIGINT" ? EXIT.sigint : EXIT.sigterm);
        }
        reason = signal;
        log(`${signal}: ${plan} (again: end at once)`);
      };
      Deno.addSignalListener(signal, handler);
      return { signal, handler };
    });
  const deadline = maxSeconds === null ? Infinity : performance.now() + maxSeconds * 1000;
  return {
    get reason() {
      return reason;
    },
    stopRequested() {
      if (reason === null && performance.now() >= deadline) {
        reason = "the time limit";
        log(`time limit: ${plan}`);
      }
      return reason === null ? "no" : "save";
    },
    saving(now) {
      saving = now;
    },
    close() {
      for (const { signal, handler } of handlers) Deno.removeSignalListener(signal, handler);
    },
  };
}
