/**
 * Matrix product: out[m, n] = alpha · op(a)·op(b), or += when `accumulate`.
 * All matrices row-major and dense. Gradients are matmuls again: for y = x·Wᵀ,
 * dx = dy·W (no transposition) and dW += dyᵀ·x (`transA`, `accumulate`).
 */
import type { Tensor } from "../device.ts";

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
  /** Scales the product (not what is already in `out`); default 1. */
  alpha?: number;
  accumulate?: boolean;
}
