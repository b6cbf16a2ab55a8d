/**
 * GELU in its tanh form (Hendrycks & Gimpel 2016; "gelu_new" and "gelu_pytorch_tanh" in
 * transformers):
 *   y = ½·x·(1 + t),  t = tanh(√(2/π)·(x + 0.044715·x³))
 * Backward: dx = dout·(½·(1 + t) + ½·x·(1 − t²)·√(2/π)·(1 + 0.134145·x²)).
 */
import type { Tensor } from "../../tensor.ts";

export interface GeluArgs {
  x: Tensor; // [n]
  out: Tensor; // [n], may be x
  n: number;
}

export interface GeluBackwardArgs {
  dout: Tensor; // [n]
  x: Tensor; // [n]
  dx: Tensor; // [n], overwritten; may be x
  /** Receives the output of the forward again; absent where it is not needed. */
  activated?: Tensor; // [n]
  n: number;
}
