/**
 * Pauses in numerical work. JavaScript handles signals and timers only between two turns of the
 * event loop, and numerical work takes no turn by itself.
 */

/** Milliseconds without a turn, after which a second Ctrl-C ends the process. */
const MAX_MS = 100;

/** Waits for one turn of the event loop, in which signals and timers are handled. */
export function yieldToEvents(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
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
