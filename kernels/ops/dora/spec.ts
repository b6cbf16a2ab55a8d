/**
 * The magnitudes of DoRA (Liu et al. 2024): y = gain·(W·x + s·B·A·x) for every output, with
 * gain = magnitude·ρ and ρ = 1/‖W + s·B·A‖ of its row.
 * - dora_gain: ρ = 1/√(squares + Σ_k q[k]·b[k]) and gain = magnitude·ρ. `squares` are those of W's
 *   rows, and q = 2s·A·Wᵀ + s²·A·Aᵀ·Bᵀ, so W + s·B·A is never made. ρ is 0 for a row of zeros.
 * - scale_columns: out[r] = x[r]·gain; with `byRow` each row has one gain.
 * - scale_columns_backward: dmagnitude += ρ·Σ_r dout[r]·x[r]. As in PEFT, ρ is a constant.
 */
import type { Tensor } from "../../tensor.ts";

export interface DoraGainArgs {
  squares: Tensor; // [d]
  q: Tensor; // [r, d]
  b: Tensor; // [d, r]
  magnitude: Tensor; // [d]
  rho: Tensor; // [d]
  gain: Tensor; // [d]
  r: number;
  d: number;
}

export interface ScaleColumnsArgs {
  x: Tensor; // [rows, d]
  gain: Tensor; // [d], or [rows] with byRow
  out: Tensor; // [rows, d]; may be x
  rows: number;
  d: number;
  byRow?: boolean;
}

export interface ScaleColumnsBackwardArgs {
  dout: Tensor; // [rows, d]
  x: Tensor; // [rows, d]
  rho: Tensor; // [d]
  dmagnitude: Tensor; // [d], increased
  rows: number;
  d: number;
}
