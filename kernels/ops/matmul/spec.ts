/**
 * Matrix product: out[m, n] = alpha · op(a)·op(b); with `accumulate` += instead of =.
 * All matrices are row-major and dense. The gradients are matrix products, too: for y = x·Wᵀ,
 * dx = dy·W (no transposition) and dW += dyᵀ·x (`transA`, `accumulate`).
 *
 * A weight that many small products read (in decoding) can be packed once, into panels of PANEL
 * rows. In a panel, element p of row j is at p·PANEL + j. After the last row there are zeros.
 *
 * A frozen weight may stay in its storage type (kernels/weights/types.ts). b is then a u32 tensor,
 * which is widened (exactly) where it is read, for y = x·Wᵀ and for dx = dy·W. The product of a
 * LoRA adapter may be added in the same call: + loraScale · xa·loraBᵀ.
 *
 * With `activations: "int8"` a is rounded to bytes (int8_rows.ts), as in llama.cpp. The result is
 * less exact, but the product takes about half the time on a CPU.
 */
import type { Tensor } from "../../tensor.ts";
import { PANEL } from "../../weights/panel.ts";
import type { WeightType } from "../../weights/types.ts";

export { PANEL };
export type { WeightType };

/** Storage types that can be multiplied with activations in bytes. */
export const INT8_ACTIVATIONS: readonly WeightType[] = ["q4_0", "q4_1", "q4_k"];

/** Number of elements of a packed weight [n, k]. */
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
  /** b is a weight [n, k] that `pack_weight` packed; not with `transB`, nor on cards. */
  packedB?: boolean;
  /** Factor of the product (not of what is already in `out`); default 1. */
  alpha?: number;
  accumulate?: boolean;
  /**
   * b is a u32 tensor [storedWords] with a weight in this type: [n, k] with `transB`, [k, n]
   * without. The length of its rows (k or n) is a multiple of the type's block. Not with `transA`.
   */
  weightType?: WeightType;
  /**
   * a is rounded to bytes for this product (not for `xa`). Needs `transB` and a weight in one of
   * INT8_ACTIVATIONS. k is a multiple of ACTIVATION_BLOCK, because the types' blocks are.
   */
  activations?: "int8";
  /**
   * LoRA: adds loraScale · xa·loraBᵀ. xa, loraB and r go together; the default of loraScale is 1.
   */
  xa?: Tensor; // [m, r]
  loraB?: Tensor; // [n, r]
  r?: number;
  loraScale?: number;
}
