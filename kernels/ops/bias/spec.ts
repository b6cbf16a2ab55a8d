/**
 * The bias of a linear layer: add_bias does x[r] += bias for every row; its gradient, add_bias_backward, is the sum
 * of a derivative over the rows, dbias += Σ_r dout[r].
 */
import type { Tensor } from "../../tensor.ts";

export interface AddBiasArgs {
  x: Tensor; // [rows, d], increased in place
  bias: Tensor; // [d]
  rows: number;
  d: number;
}

export interface AddBiasBackwardArgs {
  dout: Tensor; // [rows, d]
  dbias: Tensor; // [d], increased
  rows: number;
  d: number;
}
