/**
 * The contract between the WebGPU device and the host binding of each operation
 * (`kernels/ops/<op>/webgpu.ts`).
 *
 * A binding chooses kernels and grids; `dispatch` records them and returns. Dispatches run in the
 * order in which they were recorded, and each sees what the ones before it wrote. Sums have a fixed
 * order (there are no atomics on floats), so that the same call always gives the same bits.
 */
import type { ComputeDtype } from "./compute_dtype.ts";
import type { DType, HostArray, Tensor } from "../../tensor.ts";
import type { WeightType } from "../../weights/types.ts";
import type { Kernel } from "./wgsl/kernel.ts";

export interface WebgpuLimits {
  /** Max number of 4-byte elements in one binding. A longer tensor is bound in parts (views). */
  bindingElements: number;
  /** Max number of workgroups along one dimension of a grid. */
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
  /**
   * Number of workgroups, by default as many as `perElement` needs. Where one dimension does not
   * hold them they are folded into two. A workgroup's number is `group.x + group.y * groups.x`; the
   * kernel must do nothing when that is `groups` or more.
   */
  groups?: number;
  /** Number of floating point operations of a matrix product, for the trace. */
  flops?: number;
}

/** A card's units for products of matrices of halves with sums in f32. */
export interface MatrixUnits {
  /** A matrix has this number of rows and of columns: 8 or 16. */
  edge: number;
  /** Number of invocations in a subgroup; together they hold one matrix. */
  subgroup: number;
}

/** What a choice of kernels depends on besides the arguments of the operation. */
export interface WebgpuTraits {
  readonly limits: WebgpuLimits;
  /** The adapter is a CPU behind Vulkan, which small tiles and few workgroups suit better. */
  readonly software: boolean;
  /** The type of both sides of matrix products. */
  readonly computeDtype: ComputeDtype;
  /** Absent where kernels cannot reach them. */
  readonly matrixUnits?: MatrixUnits | null;
}

/**
 * A place where an operation has several kernels, or sizes of them, that give the same results
 * within rounding. The tuner (kernels/tuning/) measures them; without a measurement the operation
 * follows a rule of its own.
 */
export interface ChoicePoint<Args> {
  /** The name of the choice; an operation may have several. */
  readonly name: string;
  /** The operation whose arguments these are. */
  readonly op: string;
  /**
   * The class of the arguments' shapes: all calls of a class use the same kernel. It begins with
   * the name of the choice. Null where there is nothing to choose.
   */
  classOf(args: Args, traits: WebgpuTraits): string | null;
  /** The names of what can be chosen here. The first one is what the rule takes. */
  candidates(args: Args, traits: WebgpuTraits): readonly string[];
  /** The arguments that the operation writes. */
  readonly outputs: readonly (keyof Args & string)[];
  /**
   * The largest difference between two right kernels, for inputs between −1 and 1: absolute, and
   * relative to the largest result.
   */
  tolerance(args: Args): { absolute: number; relative: number };
  /** The scalars of a smaller call of the same kind, and the lengths of its tensors. */
  small?(args: Args): SmallCall<Args>;
  /** The argument that is a weight in a storage type, [rows, length]; null: there is none. */
  stored?(args: Args): { name: string; type: WeightType; rows: number; length: number } | null;
}

/** Outputs by name; a long one in parts. */
export type Results = ReadonlyMap<string, readonly HostArray[]>;

/** Replaces arguments: tensors by their length (contents are random), or by their words. */
export type SmallCall<Args> = {
  [P in keyof Args]?: Exclude<Args[P], undefined> extends Tensor ? number | Uint32Array : Args[P];
};

export interface WebgpuContext extends WebgpuTraits {
  /** The candidate that was chosen for these arguments; null: the operation's own rule. */
  choose<Args>(point: ChoicePoint<Args>, args: Args): string | null;
  dispatch(call: Dispatch): void;
  /** Temporary memory, contents undefined, valid until the operation returns. */
  scratch(dtype: DType, length: number, label: string): Tensor;
  /** Runs another operation as a part of this one. Its scratch is freed when it returns. */
  runPart<Args>(operation: WebgpuOp<Args>, args: Args): void;
}

/** Records one operation. The arguments have been validated. */
export type WebgpuOp<Args> = (args: Args, ctx: WebgpuContext) => void;
