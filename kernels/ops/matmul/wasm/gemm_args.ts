/** A matrix product on the WASM device as its planners see it: addresses instead of tensors. */
import type { WeightType } from "../../../weights/types.ts";

/** Addresses and shape of out = alpha·op(a)·op(b), dense row-major as in MatmulArgs. */
export interface GemmArgs {
  a: number;
  b: number;
  out: number;
  m: number;
  n: number;
  k: number;
  transA: boolean;
  transB: boolean;
  /** b is packed (spec.ts); transB then says nothing. */
  packedB?: boolean;
  /** b is a stored weight (spec.ts). */
  weightType?: WeightType | undefined;
  /** a is rounded to bytes (spec.ts). */
  int8?: boolean;
  alpha: number;
  accumulate: boolean;
}
