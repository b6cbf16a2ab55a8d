/**
 * The contract between the WASM device and the host binding of each operation
 * (`kernels/devices/wasm/op_table.ts`, `kernels/ops/<op>/wasm.ts`).
 *
 * A kernel is a function in C (`kernels/native/c/kernel.h`). It gets a struct of numbers, a
 * half-open range [begin, end) of work units to do, and the address of the thread's private
 * scratch. Kernels divide their outputs among the units, never the terms of a sum, so the results
 * have the same bits for every number of threads.
 *
 * A binding gives the fields of the struct by name: the arguments of the operation, where they have
 * the same names, and what the binding computes. Names that no field has are left out.
 */
import type { KernelArguments } from "./kernel_arguments.ts";
import type { Tensor } from "../../tensor.ts";
import type { ComputeDtype } from "./compute_dtype.ts";

/** The value of a field: a tensor becomes its address, true 1, and what is absent or false 0. */
export type KernelValue = Tensor | number | boolean | undefined;

/** Values for all fields of a kernel's struct. `Args` may have more, and optional ones. */
export type NamedArguments<K extends keyof KernelArguments, Args> =
  & Args
  & Record<Exclude<KernelArguments[K], keyof Args>, KernelValue>;

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
  /** The fields of the kernel's struct; at most {@link MAX_ARGS}. */
  args: object;
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
  /** The bits of a product's row do not depend on the number of rows (device.ts). */
  readonly steady: boolean;
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
  parallel<
    K extends keyof KernelArguments,
    Args extends { [Name in KernelArguments[K]]?: KernelValue },
  >(job: WasmJob & { kernel: K; args: NamedArguments<K, Args> }): void;
  /** The memory of a u32 tensor; valid until the next `scratch` or the end of the operation. */
  u32(tensor: Tensor): Uint32Array;
  /** The memory of a float tensor; valid until the next `scratch` or the end of the operation. */
  f32(tensor: Tensor): Float32Array;
}

/** Runs one operation. The arguments have been validated. */
export type WasmOp<Args> = (args: Args, ctx: WasmContext) => void;
