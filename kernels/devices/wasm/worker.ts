/**
 * A worker thread of the WASM device: runs the work that the control block describes until the
 * device is closed. Only kernels access tensors, never its JavaScript.
 */
import { bufferUpTo, CLOSED, type Control, controlViews, WORD } from "./control.ts";
import {
  instantiateKernels,
  type Kernel,
  type KernelCode,
  type Plan,
  readJob,
  readProgram,
} from "./program.ts";
import { help } from "./team.ts";

/** The message that the pool sends at the start. */
export interface WorkerStart {
  code: KernelCode;
  memory: WebAssembly.Memory;
  control: SharedArrayBuffer;
  /** Addresses in the memory: of the arguments of a single job, and of the thread's stack. */
  args: number;
  stack: number;
  thread: number;
  threads: number;
  spin: boolean;
}

/** A function that gives this thread's plan for the current work. A new program is read once. */
function planReader(
  { memory, thread, threads }: WorkerStart,
  control: Control,
  kernels: readonly Kernel[],
): () => Plan {
  const { words } = control;
  let known = 0, plan: Plan = [];
  return () => {
    const program = words[WORD.program]!;
    if (program === 0) return readJob(control, kernels, thread, threads);
    if (program !== known) {
      const address = words[WORD.programAddress]! >>> 0;
      const length = words[WORD.programLength]!;
      const text = new Float64Array(bufferUpTo(memory, address + 8 * length), address, length);
      plan = readProgram(text, kernels, thread, threads);
      known = program;
    }
    return plan;
  };
}

function loop(start: WorkerStart): void {
  const control = controlViews(start.control, start.memory, start.args);
  const kernels = instantiateKernels(start.code, start.memory, start.stack);
  const { thread, spin } = start, plan = planReader(start, control, kernels);
  Atomics.add(control.words, WORD.ready, 1);
  help({ control, thread, spin, plan }, CLOSED);
}

addEventListener("message", (event) => loop((event as MessageEvent<WorkerStart>).data), {
  once: true,
});
