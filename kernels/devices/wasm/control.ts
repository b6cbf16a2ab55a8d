/**
 * The control block: shared memory through which the calling thread and the workers distribute work
 * (the algorithm is in team.ts), with the basic functions on it.
 */
import { MAX_ARGS } from "../../ops/common/wasm_op.ts";

/**
 * Indices of the int32 words of the control block. Words that are written by different threads are
 * in different cache lines.
 */
export const WORD = {
  /** IDLE or OPEN | sequence number | number of threads in the open stage; at the end CLOSED. */
  state: 0,
  /** Number of threads that sleep until `state` changes. */
  sleepers: 16,
  /** Number of workers that have started. */
  ready: 32,
  /** 1 + the thread that failed first; its message is in the text area. */
  failed: 48,
  /** Index of the kernel that failed. */
  failedKernel: 49,
  failureLength: 50,
  /** Number of the program to run (program.ts), its address and length; 0 = the job below. */
  program: 64,
  programAddress: 65,
  programLength: 66,
  /** A single job: its kernel, units and grain. */
  kernel: 67,
  units: 68,
  grain: 69,
  /** Number of the open stage, and how many slots it uses. */
  stage: 80,
  slots: 81,
  /**
   * The slots, one for each region, SLOT_STEP words apart: the first unit of the region that no
   * thread has taken yet, and the end of the region.
   */
  next: 96,
} as const;

/** Maximum number of jobs of a stage. */
export const MAX_JOBS = 4;
/** Maximum number of regions of a job. With more threads, some begin in the same region. */
export const MAX_REGIONS = 16;
export const SLOT_STEP = 16;

/** State: threads may join a stage. */
export const OPEN = 1 << 30;
/** State: no work. */
export const IDLE = 1 << 29;
/**
 * State: no work will follow. It differs from every earlier state, so a thread that is about to
 * sleep until the state changes does not sleep.
 */
export const CLOSED = 1 << 31;
/** The bits of the number of threads. */
export const JOINED_MASK = 0xffff;
/** The bits of the sequence number are between the flags and the number of threads. */
export const SEQUENCE_STEP = 1 << 16;
export const SEQUENCE_MASK = (IDLE - 1) & ~JOINED_MASK;

const TEXT_OFFSET = 4 * (WORD.next + MAX_JOBS * MAX_REGIONS * SLOT_STEP);
const TEXT_BYTES = 512;
export const CONTROL_BYTES = TEXT_OFFSET + TEXT_BYTES;

/** How long a thread polls for work before it sleeps, in milliseconds. */
const SPIN_MS = 0.04;

/** Bytes of the arguments of a single job. */
export const ARGS_BYTES = 8 * (MAX_ARGS + 2);

/** Views of the control block, and of the device's memory. */
export interface Control {
  words: Int32Array;
  /**
   * Of a single job: address of thread 0's scratch, bytes of scratch per thread, the arguments.
   * They are in the device's memory, where kernels read them.
   */
  args: Float64Array;
  text: Uint8Array;
}

/**
 * The buffer of a memory, with at least `end` bytes. A thread may still have an old, shorter buffer
 * after another thread has grown the memory. Growing it by 0 pages updates the buffer.
 */
export function bufferUpTo(memory: WebAssembly.Memory, end: number): ArrayBuffer {
  if (memory.buffer.byteLength < end) memory.grow(0);
  return memory.buffer as ArrayBuffer;
}

/** @param args where the device's memory has the arguments of a single job */
export function controlViews(
  buffer: SharedArrayBuffer,
  memory: WebAssembly.Memory,
  args: number,
): Control {
  return {
    words: new Int32Array(buffer, 0, TEXT_OFFSET / 4),
    args: new Float64Array(bufferUpTo(memory, args + ARGS_BYTES), args, MAX_ARGS + 2),
    text: new Uint8Array(buffer, TEXT_OFFSET, TEXT_BYTES),
  };
}

/**
 * Waits until the state is no longer `state`. With `spin` it polls for a moment before it sleeps,
 * which is harmful when there are more threads than cores.
 */
export function waitWhile({ words }: Control, state: number, spin: boolean): void {
  if (spin) {
    const until = performance.now() + SPIN_MS;
    do {
      for (let i = 0; i < 64; i++) if (Atomics.load(words, WORD.state) !== state) return;
    } while (performance.now() < until);
  }
  Atomics.add(words, WORD.sleepers, 1);
  Atomics.wait(words, WORD.state, state);
  Atomics.sub(words, WORD.sleepers, 1);
}

/** Sets the state and wakes the sleeping threads. */
export function announce({ words }: Control, state: number): void {
  Atomics.store(words, WORD.state, state);
  if (Atomics.load(words, WORD.sleepers) > 0) Atomics.notify(words, WORD.state);
}

/** The kernel's index in a failure that happened outside of a kernel. */
export const NO_KERNEL = -1;

/** Records a failure of this thread, unless another was recorded first. The caller reports it. */
export function recordFailure(
  { words, text }: Control,
  thread: number,
  kernel: number,
  error: unknown,
): void {
  if (Atomics.compareExchange(words, WORD.failed, 0, thread + 1) !== 0) return;
  const message = error instanceof Error ? error.message : String(error);
  const bytes = new TextEncoder().encode(message).subarray(0, text.length);
  text.set(bytes);
  words[WORD.failedKernel] = kernel;
  Atomics.store(words, WORD.failureLength, bytes.length);
}
