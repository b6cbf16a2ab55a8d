/** A call of an operation with a choice of kernels, as the tuner (kernels/tuning/) repeats it. */
import type { ComputeDtype } from "./compute_dtype.ts";

/** A tensor argument: a range of one of the call's blocks of memory. */
export interface RecordedTensor {
  dtype: "float" | "u32";
  /** Tensors of the same block share its memory. */
  block: number;
  offset: number;
  length: number;
  /** The words that the host wrote, such as a table; null: contents do not matter. */
  words: Uint32Array | null;
}

/** A call with a choice of kernels: its class, and what is needed to make it again. */
export interface RecordedCall {
  /** The name of the choice (`ChoicePoint`). */
  point: string;
  op: string;
  class: string;
  /** How many calls of the class there were. */
  count: number;
  computeDtype: ComputeDtype;
  scalars: Record<string, unknown>;
  tensors: Record<string, RecordedTensor>;
}
