/**
 * The contract between the WebGPU device and the host binding of each operation
 * (`kernels/ops/<op>/webgpu.ts`).
 *
 * A binding chooses kernels and grids; `dispatch` records them and returns. Dispatches run in the
 * order in which they were recorded, and each sees what the ones before it wrote. Sums have a fixed
 * order (there are no atomics on floats), so that the same call always gives the same bits.
 */
import type { ComputeDtype } from "./compute_dtype.ts";
import type { DType, Tensor } from "../../tensor.ts";
import type { Kernel } from "./wgsl/kernel.ts";

export interface WebgpuLimits {
  /** Max number of 4-byte elements in one binding. A longer tensor is bound in parts (views). */
  bindingElements: number;
  /** Max number of workgroups along one dimension of a grid; see {@link WebgpuContext.grid}. */
  groupsPerDimension: number;
  /** Max bytes of workgroup memory. */
  workgroupBytes: number;
  /** Max number of invocations in a workgroup. */
  invocations: number;
}

export interface Dispatch {
  kernel: Kernel;
  /** Tensors by the kernel's buffer names. An empty tensor may be given where nothing reads it. */
  buffers: Readonly<Record<string, Tensor>>;
  params?: Readonly<Record<string, number>>;
  /** Number of workgroups in each dimension; a dispatch with a 0 among them is skipped. */
  groups: readonly [x: number, y?: number, z?: number];
  /** Number of floating point operations, for the trace; default 0. */
  flops?: number;
}

export interface WebgpuContext {
  readonly limits: WebgpuLimits;
  /** The adapter is a CPU behind Vulkan, which small tiles and few workgroups suit better. */
  readonly software: boolean;
  /** The type of both sides of matrix products. */
  readonly computeDtype: ComputeDtype;
  dispatch(call: Dispatch): void;
  /** Temporary memory, contents undefined, valid until the operation returns. */
  scratch(dtype: DType, length: number, label: string): Tensor;
  /** Runs another operation as a part of this one. Its scratch is freed when it returns. */
  runPart<Args>(operation: WebgpuOp<Args>, args: Args): void;
  /**
   * A grid of at least `count` workgroups, folded into two dimensions where one does not hold them.
   * The kernel computes a workgroup's number as `group.x + group.y * groups.x`, and must do nothing
   * when that is `count` or more.
   */
  grid(count: number): [x: number, y: number];
}

/** Records one operation. The arguments have been validated. */
export type WebgpuOp<Args> = (args: Args, ctx: WebgpuContext) => void;
