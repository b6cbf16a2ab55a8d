/**
 * Notices signals while the program computes. Deno calls signal listeners only when the event loop
 * turns, which it does not during a forward or backward pass. So a Worker, whose event loop is
 * idle, listens too and writes the number of the first signal into shared memory.
 *
 * It also counts the time in which the process could run. Most of a pause of all threads (SLURM's
 * `scontrol suspend`, Ctrl-Z) is not counted, as one tick counts as `LONGEST_TICK` at most.
 */

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

export interface SignalWatch {
  /** The first signal that arrived, or null. The call costs next to nothing. */
  first(): Deno.Signal | null;
  /** Time since the Worker has started in which the process could run. */
  seconds(): number;
  close(): void;
}

/** Starts watching. A Worker takes a moment to start. */
export function watchSignals(signals: readonly Deno.Signal[]): SignalWatch {
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
