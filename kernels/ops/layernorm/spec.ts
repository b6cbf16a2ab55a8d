/**
 * LayerNorm with an optional fused residual addition (Ba et al. 2016):
 *   h = x (+ add);  μ = mean(h);  ρ = 1/√(mean((h − μ)²) + eps);  out = (h − μ)·ρ·weight + bias
 * Backward, with x̂ = (h − μ)·ρ and g = dout·weight:
 *   dx = ρ·(g − mean(g) − x̂·mean(g·x̂));  dweight += Σ_rows dout·x̂
 * The gradient of the bias is computed by add_bias_backward.
 */
import type { Tensor } from "../../tensor.ts";

export interface LayernormArgs {
  x: Tensor; // [rows, d]
  /**
   * Residual branch that is added first. With it, `sum` is required and receives h; it may be x.
   */
  add?: Tensor; // [rows, d]
  sum?: Tensor; // [rows, d]
  weight: Tensor; // [d]
  bias: Tensor; // [d]
  out: Tensor; // [rows, d], not x
  mean: Tensor; // [rows], μ
  rho: Tensor; // [rows]
  rows: number;
  d: number;
  eps: number;
}

export interface LayernormBackwardArgs {
  dout: Tensor; // [rows, d]
  /** h of the forward. */
  x: Tensor; // [rows, d]
  weight: Tensor; // [d]
  mean: Tensor; // [rows]
  rho: Tensor; // [rows]
  dx: Tensor; // [rows, d], overwritten, or increased with `accumulate`
  accumulate?: boolean;
  /** Absent when the weight is frozen. */
  dweight?: Tensor; // [d], increased
  rows: number;
  d: number;
}
