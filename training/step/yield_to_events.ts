/**
 * Pauses in numerical work. JavaScript handles signals and timers only between two turns of the
 * event loop, and numerical work takes no turn by itself.
 */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Milliseconds without a turn, after which a second Ctrl-C ends the process. */
const MAX_MS = 100;

/** Waits for one turn of the event loop, in which signals and timers are handled. */
function yieldToEvents(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

/** Milliseconds between two collections of garbage, which take some ten milliseconds each. */
const COLLECT_MS = 10_000;

/**
 * A function to be called after each step: a turn, and now and then all garbage is collected. By
 * itself, V8 first lets the heap grow by half, which takes a run thousands of steps.
 */
export function pauseBetweenSteps(): () => Promise<void> {
  let last = performance.now(), collect: (() => void) | null = null;
  return async () => {
    await yieldToEvents();
    if (performance.now() - last < COLLECT_MS) return;
    collect ??= garbageCollector();
    collect();
    last = performance.now();
  };
}

/** Collects all garbage. V8 does not give this to the executable, where it does nothing. */
function garbageCollector(): () => void {
  // Only a context that is made after this has the function.
  setFlagsFromString("--expose-gc");
  return runInNewContext("globalThis.gc") as (() => void) | undefined ?? (() => {});
}

/** A function to be called often: it waits for a turn only if the last one was a while ago. */
export function occasionalPause(): () => Promise<void> {
  let last = performance.now();
  return async () => {
    if (performance.now() - last < MAX_MS) return;
    await yieldToEvents();
    last = performance.now();
  };
}
