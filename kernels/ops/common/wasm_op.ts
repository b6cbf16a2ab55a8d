/**
 * The contract between the WASM device and the host binding of each operation
 * (`kernels/ops/<op>/wasm.ts`).
 *
 * A kernel is a function in C (`kernels/native/c/kernel.h`). It gets a list of numbers, a half-open
 * range [begin, end) of work units to do, and the address of the thread's private scratch. Kernels
 * divide their outputs among the units, never the terms of a sum, so the results have the same bits
 * for every number of threads.
 *
 * A binding lists a kernel's arguments in the order of its parameters, under the same names
 * wherever it can. Long lists begin with a table of names (`argumentList`).
 */
import type { Tensor } from "../../tensor.ts";
import type { ComputeDtype } from "./compute_dtype.ts";

/**
 * One kernel over the units [0, units), which the threads get in chunks of at least `grain` units.
 * Each thread does its own share in order, chunk after chunk, before it helps the others: memory is
 * read fastest in order, and neighbouring units stay in the cache of one core.
 */
export interface WasmJob {
  /** Name of the function. */
  kernel: string;
  units: number;
  /**
   * Minimum number of units in a chunk. A chunk should take about 2.5 µs, because passing one to a
   * thread costs 0.4 µs. A job of fewer than two chunks runs on the calling thread alone.
   */
  grain: number;
  /** The numbers of the kernel's struct; at most {@link MAX_ARGS}. */
  args: readonly number[];
  /** Bytes of private scratch for each thread (64-byte aligned, contents undefined); default 0. */
  scratchBytes?: number;
}

/** Maximum number of a kernel's arguments. */
export const MAX_ARGS = 44;

/** The device as an operation sees it. Addresses are byte offsets in the device's memory. */
export interface WasmContext {
  /** Number of threads that may take part, the calling one included. */
  readonly threads: number;
  /** The type of both sides of matrix products. */
  readonly computeDtype: ComputeDtype;
  /** Address of a tensor's first element; of a view it is the view's first element. */
  pointer(tensor: Tensor): number;
  /**
   * Temporary memory that all threads share: 64-byte aligned, contents undefined, valid until the
   * operation returns.
   * @throws RgxError when there is no memory left
   */
  scratch(bytes: number): number;
  /** A mark for {@link release}. */
  mark(): number;
  /** Frees all scratch that was given since the mark, for loops inside an operation. */
  release(mark: number): void;
  /** Runs the job and returns when all its units are done. @throws RgxError when a kernel traps. */
  parallel(job: WasmJob): void;
  /** The memory of a u32 tensor; valid until the next `scratch` or the end of the operation. */
  u32(tensor: Tensor): Uint32Array;
  /** The memory of a float tensor; valid until the next `scratch` or the end of the operation. */
  f32(tensor: Tensor): Float32Array;
}

/**
 * The start of a kernel's argument list: an operation's arguments of these names, in the order of
 * the kernel's parameters. A tensor becomes its address, an absent argument 0.
 */
export function argumentList<Args extends object>(
  ctx: WasmContext,
  args: Args,
  names: readonly (keyof Args)[],
): number[] {
  const list: number[] = [];
  for (const name of names) {
    const value = args[name] as number | Tensor | undefined;
    if (typeof value === "number") list.push(value);
    else list.push(value === undefined ? 0 : ctx.pointer(value));
  }
  return list;
}

/** Runs one operation. The arguments have been validated. */
export type WasmOp<Args> = (args: Args, ctx: WasmContext) => void;
