/**
 * The block of shared memory through which the calling thread and the workers share out a job, and the
 * two sides' common steps.
 *
 * A job is open while the OPEN bit of STATE is set. A worker joins by compare-and-swap of STATE to
 * STATE + 1, takes chunks of units, and leaves by subtracting 1. The units are cut into regions, at most as many as
 * threads, each with a counter: a thread begins with its own and goes on to the others when that is empty.
 * The caller works too; when no chunk is left it clears OPEN and waits for the joined workers to leave. A worker that
 * wakes late cannot join a closed job, so nobody ever waits for a sleeper, nor for a thread that is
 * still starting.
 */
import { MAX_ARGS } from "./wasm_op.ts";

/** Places of the int32 words; those that different threads write are in different cache lines. */
export const WORD = {
  /** OPEN | sequence number | joined workers. */
  state: 0,
  /** The caller sleeps on STATE. */
  callerSleeps: 16,
  /** Counts jobs; idle workers sleep on it. */
  wake: 32,
  sleepers: 48,
  stop: 80,
  ready: 81,
  /** 1 + thread of the first failure; its message follows in the text area. */
  failed: 96,
  failureLength: 97,
  /** The job: written by the caller before it opens. */
  kernel: 112,
  argCount: 113,
  units: 114,
  /** Fewest units of a chunk. */
  grain: 115,
  regions: 116,
  /** First unit of region 0 that is not dealt yet; those of the others follow, REGION_STEP apart. */
  next: 128,
} as const;

/** Most regions; with more threads some begin in the same. */
export const MOST_REGIONS = 16;
export const REGION_STEP = 16;

export const OPEN = 1 << 30;
export const JOINED_MASK = 0xffff;
/** Sequence numbers live between the OPEN bit and the count of joined workers. */
export const SEQUENCE_STEP = 1 << 16;

const ARGS_OFFSET = 4 * (WORD.next + MOST_REGIONS * REGION_STEP);
const TEXT_OFFSET = ARGS_OFFSET + 8 * (MAX_ARGS + 2);
const TEXT_BYTES = 512;
export const CONTROL_BYTES = TEXT_OFFSET + TEXT_BYTES;

/** How long an idle thread looks for work before it sleeps, in milliseconds. */
const SPIN_MS = 0.04;

/** Views of the control block. */
export interface Control {
  words: Int32Array;
  /** Scratch of thread 0, bytes between two threads' scratch, then the kernel's arguments. */
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

type KernelFunction = (...args: number[]) => void;

/** One exported kernel with a reusable argument list, so that a call allocates nothing. */
export interface Kernel {
  name: string;
  index: number;
  run: KernelFunction;
  args: number[];
}

/** The kernels of a module in the order of its exports, which is the same in every thread. */
export function instantiateKernels(module: WebAssembly.Module, memory: WebAssembly.Memory) {
  const instance = new WebAssembly.Instance(module, { env: { memory } });
  const kernels: Kernel[] = [];
  for (const { name, kind } of WebAssembly.Module.exports(module)) {
    if (kind !== "function") continue;
    const run = instance.exports[name] as KernelFunction;
    kernels.push({ name, index: kernels.length, run, args: new Array(run.length).fill(0) });
  }
  return kernels;
}

/** First unit of a region; that of the one behind the last is their number. */
export function regionStart(units: number, regions: number, region: number): number {
  return Math.floor(units * region / regions);
}

/** Whether some unit of the current job has not been dealt. */
export function hasChunks({ words }: Control): boolean {
  const units = words[WORD.units]!, regions = words[WORD.regions]!;
  for (let region = 0; region < regions; region++) {
    const next = Atomics.load(words, WORD.next + region * REGION_STEP);
    if (next < regionStart(units, regions, region + 1)) return true;
  }
  return false;
}

/** Takes chunks of the current job until none is left. */
export function takeChunks(control: Control, kernel: Kernel, thread: number): void {
  const { words, args } = control;
  const count = words[WORD.argCount]!;
  const units = words[WORD.units]!;
  const grain = words[WORD.grain]!;
  const regions = words[WORD.regions]!;
  const call = kernel.args;
  for (let i = 0; i < count; i++) call[i] = args[i + 2]!;
  call[count + 2] = args[0]! + thread * args[1]!;
  for (let i = 0; i < regions; i++) {
    const region = (thread + i) % regions, counter = WORD.next + region * REGION_STEP;
    const limit = regionStart(units, regions, region + 1);
    for (;;) {
      const begin = Atomics.load(words, counter), left = limit - begin;
      if (left <= 0) break;
      // Half of what is left: few chunks, and the last ones are small, so that the threads end together.
      const size = left < 2 * grain ? left : left >> 1;
      if (Atomics.compareExchange(words, counter, begin, begin + size) !== begin) continue;
      call[count] = begin;
      call[count + 1] = begin + size;
      kernel.run.apply(undefined, call);
    }
  }
}

/** Spins until `words[index] !== value` or the time is over; true when it changed. */
export function spinWhile(words: Int32Array, index: number, value: number): boolean {
  const until = performance.now() + SPIN_MS;
  do {
    for (let i = 0; i < 64; i++) if (Atomics.load(words, index) !== value) return true;
  } while (performance.now() < until);
  return false;
}

/** Records a failure of this thread unless another came first; the caller reports it. */
export function recordFailure(control: Control, thread: number, error: unknown): void {
  const { words, text } = control;
  if (Atomics.compareExchange(words, WORD.failed, 0, thread + 1) !== 0) return;
  const message = error instanceof Error ? error.message : String(error);
  const bytes = new TextEncoder().encode(message).subarray(0, text.length);
  text.set(bytes);
  Atomics.store(words, WORD.failureLength, bytes.length);
}
