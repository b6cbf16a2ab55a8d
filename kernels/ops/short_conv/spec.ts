/**
 * A causal convolution over a few positions, channel by channel, with a gate (LFM2) or without:
 *   out_i = gate_i ⊙ Σ_t w_t ⊙ x(i, t) for t < taps
 * x(i, 0) is row i of x, and x(i, t) the row of `table` for the position t before it. w_t is column
 * taps − 1 − t of the weight: the newest position has the last one.
 *
 * Backward, where the earlier positions are rows of x (a row may come before several rows: the last
 * one of a prompt comes before the first ones of its branches), with g = dout ⊙ gate:
 *   dgate_i = dout_i ⊙ Σ_t w_t ⊙ x(i, t);  dx_j = Σ_{i, t: x(i, t) is row j} w_t ⊙ g_i;
 *   dw_t += Σ_i g_i ⊙ x(i, t)
 */
import type { Tensor } from "../../tensor.ts";

/** In `before`: there is no such position. */
export const NO_ROW = 0xffffffff;

export interface ShortConvArgs {
  x: Tensor; // [rows, d]
  table: Tensor; // [*, d]; it may be x
  before: Tensor; // u32 [rows, taps − 1]: rows of the table, or NO_ROW
  weight: Tensor; // [d, taps]
  gate?: Tensor; // [rows, d]; absent = 1
  out: Tensor; // [rows, d]
  rows: number;
  d: number;
  /** At least 2. */
  taps: number;
}

export interface ShortConvBackwardArgs {
  dout: Tensor; // [rows, d]
  x: Tensor; // [rows, d]
  before: Tensor; // u32 [rows, taps − 1]: rows of x, or NO_ROW
  /**
   * Where the rows i of which row j is x(i, t) begin in `users`: place j·(taps − 1) + t − 1. They
   * end where the next ones begin.
   */
  after: Tensor; // u32 [rows·(taps − 1) + 1]
  users: Tensor; // u32
  weight: Tensor; // [d, taps]
  gate?: Tensor; // [rows, d]; absent = 1
  dx: Tensor; // [rows, d], overwritten
  dgate?: Tensor; // [rows, d], overwritten; with a gate
  dweight?: Tensor; // [d, taps], increased; absent when frozen
  rows: number;
  d: number;
  taps: number;
}
