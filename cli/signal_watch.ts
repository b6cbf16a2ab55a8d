/**
 * Notices signals while the program computes. Deno calls signal listeners only when the event loop
 * turns, which it does not during a forward or backward pass. So a Worker, whose event loop is
 * idle, listens too and writes the number of the first signal into shared memory.
 */

/** The code of the Worker. Its message is [shared memory, names of signals]. */
const LISTENER = `onmessage = ({ data: [first, signals] }) => {
  signals.forEach((signal, i) =>
    Deno.addSignalListener(signal, () => Atomics.compareExchange(first, 0, 0, i + 1)));
};`;

export interface SignalWatch {
  /** The first signal that arrived, or null. The call costs next to nothing. */
  first(): Deno.Signal | null;
  close(): void;
}

/** Starts watching. A Worker takes a moment to start. */
export function watchSignals(signals: readonly Deno.Signal[]): SignalWatch {
  const first = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(`data:text/javascript,${encodeURIComponent(LISTENER)}`, {
    type: "module",
    name: "signals",
  });
  worker.postMessage([first, signals]);
  return {
    first() {
      const number = Atomics.load(first, 0);
      return number === 0 ? null : signals[number - 1]!;
    },
    close: () => worker.terminate(),
  };
}
