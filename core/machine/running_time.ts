/**
 * Limits in time during which this process could run. A job may be suspended as a whole (SLURM's
 * `scontrol suspend`, Ctrl-Z, a closed laptop): the clock continues meanwhile, but nobody can
 * answer. So a limit is waited for in parts, and each part counts at most about its own length.
 */

/** The least number of parts of a limit, and the longest part in milliseconds. */
const PARTS = 20, LONGEST_PART = 250;

// Captured before the code of a user's reward can replace them.
const startTimer = setTimeout, stopTimer = clearTimeout, now = performance.now.bind(performance);

/** Calls `late` after so many milliseconds in which this process could run. @returns ends it */
export function runningTimeout(late: () => void, milliseconds: number): () => void {
  const part = Math.min(milliseconds / PARTS, LONGEST_PART);
  let left = milliseconds, timer: ReturnType<typeof setTimeout> | undefined;
  const wait = () => {
    const start = now();
    timer = startTimer(() => {
      left -= Math.min(now() - start, 2 * part);
      if (left > 0) wait();
      else late();
    }, Math.min(part, left));
  };
  wait();
  return () => stopTimer(timer);
}

/** Waits by `Atomics.wait` for so many milliseconds in which this process could run. */
export function runningWait(
  words: Int32Array,
  index: number,
  value: number,
  milliseconds: number,
): "ok" | "not-equal" | "timed-out" {
  const part = Math.min(milliseconds / PARTS, LONGEST_PART);
  for (let left = milliseconds;;) {
    const start = now(), result = Atomics.wait(words, index, value, Math.min(part, left));
    left -= Math.min(now() - start, 2 * part);
    if (result !== "timed-out" || left <= 0) return result;
  }
}

/** Calls `late` after so many milliseconds of the clock. @returns ends it */
function clockTimeout(late: () => void, milliseconds: number): () => void {
  const timer = setTimeout(late, milliseconds);
  return () => clearTimeout(timer);
}

/**
 * Waits for some work, but at most so many milliseconds.
 * @param timeout measures them, by the clock or in which this process could run
 * @throws what the work throws
 */
export async function atMost(
  milliseconds: number,
  work: Promise<unknown>,
  timeout = clockTimeout,
): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const stop = timeout(resolve, milliseconds);
  try {
    await Promise.race([work, late]);
  } finally {
    stop();
  }
}
