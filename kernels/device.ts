/**
 * The narrow interface between the models and the hardware. A device owns opaque tensors and runs
 * named operations on them; nothing above it may assume that a tensor is readable by the host, that
 * two tensors live in one memory, or that an operation has finished when `run` returns.
 *
 * Three implementations: `reference` (plain TypeScript, defines what is right), `wasm` (CPU), `webgpu`.
 * Left out on purpose: autograd (each layer has an explicit forward and backward) and shapes
 * (a tensor is a flat block; the operation's arguments say how to read it).
 */
import type { Ops } from "./ops/ops.ts";
import type { DType, HostArray, Tensor } from "./tensor.ts";

/** The graphics adapter behind a device. */
export interface AdapterInfo {
  /** "NVIDIA H100 80GB HBM3", "llvmpipe (LLVM 15.0.6, 256 bits)". */
  name: string;
  /** PCI ids, decimal; vendor 4318 is NVIDIA. */
  vendor: number;
  device: number;
  /** A CPU behind the graphics interface: right, and slow. */
  software: boolean;
}

/** Operations that were recorded once, to be run again and again. */
export interface Recording {
  /** Whether all its tensors still exist; otherwise it cannot be run. */
  readonly isValid: boolean;
  /** Runs the operations, in an order that gives what they would give one after the other. */
  run(): void;
  /** Gives back its memory. Idempotent. */
  free(): void;
}

/** Where numbers are kept and worked on; `close()` it at the end. */
export interface Device {
  readonly name: "reference" | "wasm" | "webgpu";
  /** Of `webgpu`. */
  readonly adapter?: AdapterInfo;
  /** Precision of `float` tensors. */
  readonly float: "f32" | "f64";
  /** Threads (1 where the notion does not apply). */
  readonly threads: number;
  /**
   * A zero-filled tensor. With `use` "weight" operations will only read it: a device whose own memory is short may
   * keep it elsewhere, and bring it in for each operation.
   * @throws RgxError out of memory, with the label and the size.
   */
  create(dtype: DType, length: number, label: string, use?: "weight"): Tensor;
  /** Copies `data` to elements [offset, offset + data.length); takes effect before any later `run`. */
  write(tensor: Tensor, data: HostArray, offset?: number): void;
  /** Waits for all recorded work, then copies elements out (a fresh array, Float32Array or Float64Array by `float`). */
  read(tensor: Tensor, offset?: number, length?: number): Promise<HostArray>;
  /** Returns the tensor's memory to the pool. Views of it must not be used afterwards; freeing a view is an error. */
  free(tensor: Tensor): void;
  /**
   * Called before every `run`; what it throws ends the work that asked for the operation, which is not done.
   * So long work can be given up although it lets no events in. Absent or null: nothing is called.
   */
  beforeRun?: (() => void) | null;
  /** Enqueues an operation; arguments are validated here, on the host, before anything is enqueued. */
  run<K extends keyof Ops>(op: K, args: Ops[K]): void;
  /**
   * Records the operations that `work` runs, without running them; it may neither create, write, read nor free
   * tensors. Null when one of them cannot be recorded. Absent: on this device nothing is gained by it.
   */
  record?: ((work: () => void) => Recording | null) | undefined;
  /** Starts everything enqueued so far; returns without waiting. `read` implies it. */
  submit(): void;
  /** Bytes in live tensors now, and the most there ever were since `resetPeak`. */
  readonly allocatedBytes: number;
  readonly peakBytes: number;
  resetPeak(): void;
  /**
   * Most bytes of weights ("weight" of `create`) that lie where kernels write; what exceeds them is copied in for
   * each operation. To be set before weights are made, by devices whose kernels reach less than the machine has.
   */
  weightRoom?: number;
  /** Most bytes of one tensor, where that is less than the memory. */
  readonly largestTensor?: number;
  /** Bytes that the device holds for tensors, used or kept for the next ones; where that is known. */
  readonly reservedBytes?: number;
  /** Stops threads and drops all memory. Idempotent. */
  close(): void;
}
