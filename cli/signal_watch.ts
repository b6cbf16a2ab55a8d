/**
 * Signals heard while the program computes. Deno hands a signal to its listeners only when the event loop turns,
 * and a forward or backward pass does not turn it; so a Worker, whose own event loop is idle, listens too and
 * leaves the number of the first signal in shared memory.
 */

/** Runs in the Worker: message = [shared memory, names of signals]. */
const LISTENER = `onmessage = ({ data: [first, signals] }) => {
  signals.forEach((signal, i) =>
    Deno.addSignalListener(signal, () => Atomics.compareExchange(first, 0, 0, i + 1)));
};`;

export interface SignalWatch {
  /** The first of the signals that came, or null; asking costs next to nothing. */
  first(): Deno.Signal | null;
  close(): void;
}

/** Watches from soon on: a Worker takes a moment to start. */
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
