/**
 * The contract between the WebGPU device and the host binding of each operation (`kernels/<op>/webgpu.ts`).
 *
 * A binding picks kernels and grids; `dispatch` records them and returns. Dispatches run in the order in which
 * they were recorded, and each sees what the ones before it wrote. Sums have a fixed order (no atomics on
 * floats), so that the same call gives the same bits.
 */
import type { DType, Tensor } from "../../tensor.ts";
import type { Kernel } from "./wgsl/kernel.ts";

export interface WebgpuLimits {
  /** Most elements of 4 bytes in one binding; a longer tensor is bound in parts (`tensor.view`). */
  bindingElements: number;
  /** Workgroups along one dimension of a grid; see {@link WebgpuContext.grid}. */
  groupsPerDimension: number;
  /** Bytes of workgroup memory. */
  workgroupBytes: number;
  /** Invocations of a workgroup. */
  invocations: number;
}

export interface Dispatch {
  kernel: Kernel;
  /** By the kernel's names of its buffers. A tensor of no elements may be given where nothing reads it. */
  buffers: Readonly<Record<string, Tensor>>;
  params?: Readonly<Record<string, number>>;
  /** Workgroups; a dispatch with a 0 among them is skipped. */
  groups: readonly [x: number, y?: number, z?: number];
  /** Floating point operations, for the trace; default 0. */
  flops?: number;
}

export interface WebgpuContext {
  readonly limits: WebgpuLimits;
  /** A software adapter (a CPU behind Vulkan): small tiles and few workgroups suit it better. */
  readonly software: boolean;
  dispatch(call: Dispatch): void;
  /** Temporary memory, contents undefined, until the operation returns. */
  scratch(dtype: DType, length: number, label: string): Tensor;
  /** Runs another operation as a part of this one; its scratch is freed when it returns. */
  runPart<Args>(operation: WebgpuOp<Args>, args: Args): void;
  /**
   * A grid for `count` workgroups that may be more than one dimension holds: the kernel computes its number as
   * `group.x + group.y * groups.x` and must do nothing when that is `count` or more.
   */
  grid(count: number): [x: number, y: number];
}

/** Records one operation; the arguments have been validated. */
export type WebgpuOp<Args> = (args: Args, ctx: WebgpuContext) => void;
