/**
 * The bias of a linear layer. add_bias: x[r] += scale·bias for every row r. Its
 * gradient, add_bias_backward, is a sum over the rows: dbias += scale·Σ_r dout[r].
 */
import type { Tensor } from "../../tensor.ts";

export interface AddBiasArgs {
  x: Tensor; // [rows, d], increased in place
  bias: Tensor; // [d]
  rows: number;
  d: number;
  /** Default 1. */
  scale?: number;
}

export interface AddBiasBackwardArgs {
  dout: Tensor; // [rows, d]
  dbias: Tensor; // [d], increased
  rows: number;
  d: number;
  /** Default 1. */
  scale?: number;
}
