/** Signals and timers are heard only while the event loop turns, and numerical work does not turn it. */

/** Longest time without a turn, in milliseconds: a second Ctrl-C ends the process that soon. */
const MOST_MS = 100;

/** Lets signals and timers in. */
export function yieldToEvents(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

/** A pause that costs nothing while work is fast: it yields when the last time was a while ago. */
export function occasionalPause(): () => Promise<void> {
  let last = performance.now();
  return async () => {
    if (performance.now() - last < MOST_MS) return;
    await yieldToEvents();
    last = performance.now();
  };
}
