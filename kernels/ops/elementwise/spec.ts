/**
 * Elementwise: add (out = a + scale·b, or scale·b without a; out may be a or b), copy (out = src),
 * fill (out = value), multiply (out = a·b; out may be a or b), soft_cap (out = cap·tanh(x/cap); out
 * may be x), soft_cap_backward (dx = dout·(1 − (y/cap)²) with y = soft_cap(x); dx may be dout).
 */
import type { Tensor } from "../../tensor.ts";

export interface AddArgs {
  /** Absent = zeros. */
  a?: Tensor; // [n]
  b: Tensor; // [n]
  out: Tensor; // [n]
  n: number;
  /** Default 1. */
  scale?: number;
}

export interface MultiplyArgs {
  a: Tensor; // [n]
  b: Tensor; // [n]
  out: Tensor; // [n]
  n: number;
}

export interface SoftCapArgs {
  x: Tensor; // [n]
  out: Tensor; // [n]
  n: number;
  cap: number;
}

export interface SoftCapBackwardArgs {
  dout: Tensor; // [n]
  y: Tensor; // [n]
  dx: Tensor; // [n]
  n: number;
  cap: number;
}

export interface CopyArgs {
  src: Tensor; // [n], same dtype as out
  out: Tensor; // [n]
  n: number;
}

export interface FillArgs {
  out: Tensor; // [n], float
  n: number;
  value: number;
}
