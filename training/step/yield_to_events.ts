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

/** Milliseconds between two collections of garbage, and how many times as long as one takes. */
const COLLECT_MS = 10_000, COLLECT_TIMES = 100;

/**
 * A function to be called after each step: a turn, and now and then all garbage is collected. By
 * itself, V8 first lets the heap grow by half, which takes a run thousands of steps. Where much is
 * in use, as the rows of a large data set, a collection takes longer, and comes less often.
 */
export function pauseBetweenSteps(): () => Promise<void> {
  let due = performance.now() + COLLECT_MS, collect: (() => void) | null = null;
  return async () => {
    await yieldToEvents();
    const begin = performance.now();
    if (begin < due) return;
    collect ??= garbageCollector();
    collect();
    const end = performance.now();
    due = end + Math.max(COLLECT_MS, COLLECT_TIMES * (end - begin));
  };
}

/** A function that collects all garbage; in the executable, whose V8 has none, it does nothing. */
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
