/**
 * RMSNorm with an optional fused residual addition (Zhang & Sennrich 2019):
 *   h = x (+ add);  ρ = 1/√(mean(h²) + eps);  w = weight + offset;  out = (h·ρ)·w
 * Backward: g = dout·w; dx = ρ·(g − h·ρ²·mean(g·h)); dweight += Σ_rows dout·h·ρ.
 */
import type { Tensor } from "../../tensor.ts";

export interface RmsnormArgs {
  x: Tensor; // [rows, d]
  /**
   * Residual branch that is added first. With it, `sum` is required and receives h; it may be x.
   */
  add?: Tensor; // [rows, d]
  sum?: Tensor; // [rows, d]
  weight: Tensor; // [d]
  out: Tensor; // [rows, d], not x
  rho: Tensor; // [rows]
  rows: number;
  d: number;
  eps: number;
  /** 1 where the weight is stored as its difference from 1; default 0. */
  offset?: number;
}

export interface RmsnormBackwardArgs {
  dout: Tensor; // [rows, d]
  /** h of the forward. */
  x: Tensor; // [rows, d]
  weight: Tensor; // [d]
  rho: Tensor; // [rows]
  dx: Tensor; // [rows, d], overwritten, or increased with `accumulate`; may be dout
  accumulate?: boolean;
  /** Absent when the weight is frozen. */
  dweight?: Tensor; // [d], increased
  rows: number;
  d: number;
  offset?: number;
}
