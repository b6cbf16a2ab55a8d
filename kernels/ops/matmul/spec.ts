/**
 * Matrix product: out[m, n] = alpha · op(a)·op(b), or += when `accumulate`.
 * All matrices row-major and dense. Gradients are matmuls again: for y = x·Wᵀ,
 * dx = dy·W (no transposition) and dW += dyᵀ·x (`transA`, `accumulate`).
 *
 * A weight that many small products read (decoding) can be packed once: panels of PANEL of its rows, the
 * panel's element (p, j) at p·PANEL + j, zeros behind the last row.
 *
 * A frozen weight may stay in its storage type (kernels/weights/types.ts): b then is a u32 tensor, widened (exactly)
 * where it is read, for y = x·Wᵀ and for dx = dy·W. An adapter's product may be added in the same call:
 * + loraScale · xa·loraBᵀ.
 *
 * With `activations: "int8"` the product takes a rounded to bytes (int8_rows.ts), as llama.cpp does: not what was
 * asked for to the last bit, but about twice as fast on a CPU.
 */
import type { Tensor } from "../../tensor.ts";
import { PANEL } from "../../weights/panel.ts";
import type { WeightType } from "../../weights/types.ts";

export { PANEL };
export type { WeightType };

/** Types of weights that can be multiplied with activations in bytes. */
export const INT8_ACTIVATIONS: readonly WeightType[] = ["q4_0", "q4_1", "q4_k"];

/** Elements of a packed weight [n, k]. */
export function packedLength(n: number, k: number): number {
  return Math.ceil(n / PANEL) * PANEL * k;
}

export interface PackWeightArgs {
  weight: Tensor; // [n, k]
  out: Tensor; // [packedLength(n, k)]
  n: number;
  k: number;
}

export interface MatmulArgs {
  /** [m, k], or [k, m] with `transA`. */
  a: Tensor;
  /** [k, n], or [n, k] with `transB` (the layout of weights, [out, in]). */
  b: Tensor;
  /** [m, n]; must not overlap a or b. */
  out: Tensor;
  m: number;
  n: number;
  k: number;
  transA?: boolean;
  transB?: boolean;
  /** b is a weight [n, k] as `pack_weight` leaves it; in place of `transB`. */
  packedB?: boolean;
  /** Scales the product (not what is already in `out`); default 1. */
  alpha?: number;
  accumulate?: boolean;
  /**
   * b is a weight in this type, u32 [storedWords]: [n, k] with `transB`, [k, n] without. The length of its rows (k, or
   * n) is a multiple of the type's block. Not with `transA`.
   */
  weightType?: WeightType;
  /**
   * a is rounded to bytes for this product (not for `xa`). With `transB` and a weight in one of INT8_ACTIVATIONS; k is
   * a multiple of ACTIVATION_BLOCK, as that of every such weight.
   */
  activations?: "int8";
  /** LoRA, all three or none: adds loraScale · xa·loraBᵀ; `loraScale` defaults to 1. */
  xa?: Tensor; // [m, r]
  loraB?: Tensor; // [n, r]
  r?: number;
  loraScale?: number;
}
