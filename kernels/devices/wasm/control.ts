/**
 * The block of shared memory through which the calling thread and the workers share out work (team.ts says how),
 * and the smallest steps on it.
 */
import { MAX_ARGS } from "../../ops/common/wasm_op.ts";

/** Places of the int32 words; those that different threads write are in different cache lines. */
export const WORD = {
  /** IDLE or OPEN | sequence number | threads that have joined the open stage; in the end CLOSED. */
  state: 0,
  /** Threads that sleep on STATE. */
  sleepers: 16,
  ready: 32,
  /** 1 + thread of the first failure; its message follows in the text area. */
  failed: 48,
  /** Number of the kernel that failed. */
  failedKernel: 49,
  failureLength: 50,
  /** What is run: number of a program (program.ts), its address and length; 0 = the one job that follows. */
  program: 64,
  programAddress: 65,
  programLength: 66,
  kernel: 67,
  argCount: 68,
  units: 69,
  grain: 70,
  /** Number of the open stage, and how many of the slots below it has. */
  stage: 80,
  slots: 81,
  /** First unit of a region that is not dealt yet, and the region's end; those of the next follow SLOT_STEP further on. */
  next: 96,
} as const;

/** Most jobs of a stage, and regions of a job; with more threads some begin in the same. */
export const MOST_JOBS = 4;
export const MOST_REGIONS = 16;
export const SLOT_STEP = 16;

/** A stage may be joined. */
export const OPEN = 1 << 30;
/** Nothing is being run. */
export const IDLE = 1 << 29;
/** Nothing will be run again: no other state, so that nobody who saw one before takes it for that and sleeps on. */
export const CLOSED = 1 << 31;
export const JOINED_MASK = 0xffff;
/** Sequence numbers live between the two flags and the count of threads. */
export const SEQUENCE_STEP = 1 << 16;
export const SEQUENCE_MASK = (IDLE - 1) & ~JOINED_MASK;

const ARGS_OFFSET = 4 * (WORD.next + MOST_JOBS * MOST_REGIONS * SLOT_STEP);
const TEXT_OFFSET = ARGS_OFFSET + 8 * (MAX_ARGS + 2);
const TEXT_BYTES = 512;
export const CONTROL_BYTES = TEXT_OFFSET + TEXT_BYTES;

/** How long a thread looks for work before it sleeps, in milliseconds. */
const SPIN_MS = 0.04;

/** Views of the control block. */
export interface Control {
  words: Int32Array;
  /** Of the one job: scratch of thread 0, bytes between two threads' scratch, then the kernel's arguments. */
  args: Float64Array;
  text: Uint8Array;
}

export function controlViews(buffer: SharedArrayBuffer): Control {
  return {
    words: new Int32Array(buffer, 0, ARGS_OFFSET / 4),
    args: new Float64Array(buffer, ARGS_OFFSET, MAX_ARGS + 2),
    text: new Uint8Array(buffer, TEXT_OFFSET, TEXT_BYTES),
  };
}

/**
 * Waits until STATE is no longer `state`: looks for a moment, if `spin` (wrong when threads outnumber cores),
 * then sleeps until a stage opens or all work has ended.
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

/** Gives STATE a value that sleepers may have been waiting for. */
export function announce({ words }: Control, state: number): void {
  Atomics.store(words, WORD.state, state);
  if (Atomics.load(words, WORD.sleepers) > 0) Atomics.notify(words, WORD.state);
}

/** In place of a kernel's number: the failure is another one. */
export const NO_KERNEL = -1;

/** Records a failure of this thread in a kernel unless another came first; the caller reports it. */
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
