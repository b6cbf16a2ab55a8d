/**
 * The interface between the models and the hardware. A device owns opaque tensors and runs named
 * operations on them. Code that uses a device may not assume that the host can read a tensor, that
 * two tensors are in the same memory, or that an operation has finished when `run` returns.
 *
 * There are three implementations in devices/: `reference` (plain TypeScript, which defines the
 * right results), `wasm` (CPU) and `webgpu`, which also runs on `vulkan`. The conformance suite in
 * conformance/ compares them; validation/ checks the arguments of operations for all of them.
 *
 * Devices have no autograd: each layer has an explicit forward and backward. Tensors have no shape:
 * they are flat blocks, and the arguments of an operation say how to read them.
 */
import type { Ops } from "./ops/ops.ts";
import type { ComputeDtype } from "./ops/common/compute_dtype.ts";
import type { MatrixUnits } from "./ops/common/webgpu_op.ts";
import type { RecordedCall } from "./ops/common/recorded_call.ts";
import type { DType, HostArray, Tensor } from "./tensor.ts";

/** The graphics adapter of a device. */
export interface AdapterInfo {
  /** "NVIDIA H100 80GB HBM3", "llvmpipe (LLVM 15.0.6, 256 bits)". */
  name: string;
  /** PCI ids, in decimal; vendor 4318 is NVIDIA. */
  vendor: number;
  /** PCI id of the card. */
  device: number;
  /** Whether a CPU emulates the adapter: results are right, but slow. */
  software: boolean;
  /** Name and version of the driver; absent where they are not known. */
  driver?: string;
}

/** Operations that were recorded once and can be run many times. */
export interface Recording {
  /** Whether all tensors of the recording still exist. If not, it cannot be run. */
  readonly isValid: boolean;
  /** Runs the operations. The result is the same as when they run one after the other. */
  run(): void;
  /** Frees the recording's memory. Further calls do nothing. */
  free(): void;
}

/** Stores tensors and runs operations on them. Call `close()` at the end. */
export interface Device {
  /** Which implementation it is. */
  readonly name: "reference" | "wasm" | "webgpu" | "vulkan";
  /** Only `webgpu` and `vulkan` have an adapter: they compute on a graphics card. */
  readonly adapter?: AdapterInfo;
  /** Precision of `float` tensors. */
  readonly float: "f32" | "f64";
  /**
   * The type of both sides of matrix products (of `matmul`, `head` and `head_backward`; the sums
   * are always floats; ops/matmul/bf16.ts). Default float32. Set it before operations run: those of
   * a recording stay as they were.
   */
  computeDtype: ComputeDtype;
  /**
   * Only the CPU: the bits of a row in a product with a stored weight do not depend on the number
   * of rows. Products of one and two rows take longer. Default false; set it as `computeDtype`.
   */
  steady?: boolean;
  /**
   * Only devices of graphics cards: the kernels that operations use, by the class of their shapes,
   * where the tuner (tuning/) has measured them. A class that is not there follows the operation's
   * own rule.
   */
  kernelChoices?: Readonly<Record<string, string>>;
  /**
   * Only devices of graphics cards: calls `work` without computing, and returns the calls in which
   * operations had a choice of kernels. What is read meanwhile is zeros.
   * @internal
   */
  rehearse?(work: () => Promise<unknown>): Promise<RecordedCall[]>;
  /** Number of the card that the device was opened on; null = the first. */
  readonly card?: number | null;
  /** Number of CPU threads; 1 on devices without threads. */
  readonly threads: number;
  /** Only `wasm`: what computes matrix products, for people, as "AVX-512 tiles". */
  readonly tiles?: string;
  /**
   * Only devices of graphics cards: units for products of matrices, where kernels reach them.
   * @internal
   */
  readonly matrixUnits?: MatrixUnits | null;
  /** What computes products in bfloat16, for people: "AMX", "matrix units (16 × 16)". */
  readonly bf16Unit?: string;
  /**
   * Creates a tensor filled with zeros. With `use` "weight", operations may only read it. A device
   * with little memory may then store it elsewhere and copy it in for each operation.
   * @throws RgxError out of memory, with the label and the size.
   * @internal
   */
  create(dtype: DType, length: number, label: string, use?: "weight"): Tensor;
  /**
   * Copies `data` to elements [offset, offset + data.length), before any later `run`.
   * @internal
   */
  write(tensor: Tensor, data: HostArray, offset?: number): void;
  /**
   * Waits for all enqueued work, then copies elements to a new array: Uint32Array for u32, else
   * Float32Array or Float64Array by `float`.
   * @internal
   */
  read(tensor: Tensor, offset?: number, length?: number): Promise<HostArray>;
  /**
   * Copies the first `length` elements of tensors as they are after all operations so far. What it
   * returns waits for the copies; operations that were run in between begin before the host goes
   * on. Only on devices that compute while the host does other things. Not for long tensors: the
   * copies take memory until then.
   * @internal
   */
  readLater?(
    tensors: readonly { tensor: Tensor; length: number }[],
  ): Promise<() => Promise<HostArray[]>>;
  /**
   * The elements of a float tensor themselves, to be read and written until the next `run`. Only on
   * devices that compute in the memory of the host; `read` and `write` do it on all.
   * @internal
   */
  direct?(tensor: Tensor): Float32Array;
  /**
   * Frees the tensor's memory. Its views must not be used any more; freeing a view is an error.
   * @internal
   */
  free(tensor: Tensor): void;
  /**
   * Called before every `run`. If it throws, the operation is not run, and the error reaches the
   * caller of `run`. So long work can be stopped even if it does not handle events.
   */
  beforeRun?: (() => void) | null;
  /**
   * Enqueues an operation. The arguments are validated on the host before anything is enqueued.
   * @internal
   */
  run<K extends keyof Ops>(op: K, args: Ops[K]): void;
  /**
   * Records the operations that `work` runs, without running them. `work` may not create, write,
   * read or free tensors. Returns null when an operation cannot be recorded. Absent on devices that
   * do not benefit from recordings.
   * @internal
   */
  record?: ((work: () => void) => Recording | null) | undefined;
  /** Starts all enqueued work without waiting for it. `read` does this too. */
  submit(): void;
  /** Bytes of all existing tensors now, and their maximum since `resetPeak`. */
  readonly allocatedBytes: number;
  /** The maximum of `allocatedBytes` since `resetPeak`. */
  readonly peakBytes: number;
  /** Begins to measure `peakBytes` anew. */
  resetPeak(): void;
  /**
   * Maximum bytes of weights ("weight" of `create`) in the memory that kernels can address. Weights
   * above it are copied in for each operation. Only on devices whose kernels address less memory
   * than the machine has; set it before weights are created.
   */
  weightRoom?: number;
  /** Maximum bytes of one tensor, if less than the device's memory. */
  readonly largestTensor?: number;
  /**
   * Bytes of a tensor that the driver gives in one piece for sure, if less than `largestTensor`.
   * What can be divided stays below it.
   */
  readonly promisedTensor?: number;
  /** Bytes that the device has reserved for current and future tensors; absent when unknown. */
  readonly reservedBytes?: number;
  /** Stops threads and frees all memory. Further calls do nothing. */
  close(): void;
  /** As `close`, at the end of a block: `using device = …`. */
  [Symbol.dispose](): void;
}
