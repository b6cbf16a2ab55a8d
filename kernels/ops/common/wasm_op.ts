/**
 * The contract between the WASM device and the host binding of each operation (`kernels/<op>/wasm.ts`).
 *
 * A kernel is an AssemblyScript function exported by `kernels/<op>/wasm.as.ts`. Its parameters are plain
 * `usize` / `i32` / `f32` numbers and the last three are always `begin: i32, end: i32, scratch: usize`:
 * the half-open range of work units to do and the address of this thread's private scratch. Kernels
 * split work over outputs, never over sums, so results are bit-equal for every number of threads.
 */
import type { Tensor } from "../../tensor.ts";

/**
 * One kernel over the units [0, units), dealt to the threads in chunks of `grain` units or more. Each thread has its
 * own share, chunk after chunk in order, before it helps others: memory is read fastest in order, and what lies
 * together stays in one core's cache.
 */
export interface WasmJob {
  /** Name of the exported function. */
  kernel: string;
  units: number;
  /**
   * Fewest units per chunk. Choose it so that a chunk is worth some 2.5 µs: handing one over costs
   * 0.4 µs. A job of less than two chunks runs on the calling thread alone.
   */
  grain: number;
  /** The kernel's parameters without the last three; at most {@link MAX_ARGS}. */
  args: readonly number[];
  /** Bytes of private scratch each thread needs (64-byte aligned, contents undefined); default 0. */
  scratchBytes?: number;
}

/** Most parameters a kernel may have, besides the last three. */
export const MAX_ARGS = 40;

/** What an operation sees of the device. Addresses are byte offsets in the device's memory. */
export interface WasmContext {
  /** Threads that may take part, the calling one included. */
  readonly threads: number;
  /** Address of a tensor's first element (of the view's first element for a view). */
  pointer(tensor: Tensor): number;
  /**
   * Temporary memory shared by all threads, 64-byte aligned, contents undefined, valid until the
   * operation returns. @throws RgxError out of memory.
   */
  scratch(bytes: number): number;
  /** A mark for {@link release}. */
  mark(): number;
  /** Takes back all scratch lent since the mark, for loops inside one operation. */
  release(mark: number): void;
  /** Runs the job and returns when all its units are done. @throws RgxError when a kernel traps. */
  parallel(job: WasmJob): void;
  /** Direct view of a tensor of dtype u32; valid until the next `scratch` or the end of the operation. */
  u32(tensor: Tensor): Uint32Array;
  /** Direct view of a float tensor; valid until the next `scratch` or the end of the operation. */
  f32(tensor: Tensor): Float32Array;
}

/** Runs one operation; the arguments have been validated. */
export type WasmOp<Args> = (args: Args, ctx: WasmContext) => void;
