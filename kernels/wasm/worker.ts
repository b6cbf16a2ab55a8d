/**
 * One thread of the WASM device: waits for jobs in the control block and helps with them until told to
 * stop. It never touches a tensor from JavaScript; all memory traffic is in the kernels.
 */
import {
  type Control,
  controlViews,
  hasChunks,
  instantiateKernels,
  JOINED_MASK,
  type Kernel,
  OPEN,
  recordFailure,
  spinWhile,
  takeChunks,
  WORD,
} from "./control.ts";

/** What the pool sends once, at the start. */
export interface WorkerStart {
  module: WebAssembly.Module;
  memory: WebAssembly.Memory;
  control: SharedArrayBuffer;
  thread: number;
  /** Whether to look for work for a moment before sleeping; wrong when threads outnumber cores. */
  spin: boolean;
}

/** Joins the open job, if there is one with work left; a lost race for STATE is tried again. */
function join(control: Control): boolean {
  const { words } = control;
  for (;;) {
    const state = Atomics.load(words, WORD.state);
    if ((state & OPEN) === 0) return false;
    if (!hasChunks(control)) return false;
    if (Atomics.compareExchange(words, WORD.state, state, state + 1) === state) return true;
  }
}

function help(control: Control, kernels: Kernel[], thread: number): void {
  const { words } = control;
  if (!join(control)) return;
  try {
    takeChunks(control, kernels[words[WORD.kernel]!]!, thread);
  } catch (error) {
    recordFailure(control, thread, error);
  }
  const left = Atomics.sub(words, WORD.state, 1) - 1;
  if ((left & JOINED_MASK) === 0 && Atomics.load(words, WORD.callerSleeps) === 1) {
    Atomics.notify(words, WORD.state);
  }
}

function loop({ module, memory, control: buffer, thread, spin }: WorkerStart): void {
  const control = controlViews(buffer);
  const { words } = control;
  const kernels = instantiateKernels(module, memory);
  Atomics.add(words, WORD.ready, 1);
  Atomics.notify(words, WORD.ready);
  while (Atomics.load(words, WORD.stop) === 0) {
    const wake = Atomics.load(words, WORD.wake);
    help(control, kernels, thread);
    if (spin && spinWhile(words, WORD.wake, wake)) continue;
    Atomics.add(words, WORD.sleepers, 1);
    Atomics.wait(words, WORD.wake, wake);
    Atomics.sub(words, WORD.sleepers, 1);
  }
}

addEventListener("message", (event) => loop((event as MessageEvent<WorkerStart>).data), {
  once: true,
});
