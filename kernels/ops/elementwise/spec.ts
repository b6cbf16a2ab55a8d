/**
 * Elementwise: add (out = a + scale·b, or scale·b without a; out may be a or b), copy (out = src),
 * fill (out = value).
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
