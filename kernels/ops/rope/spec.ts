/**
 * Rotary position embedding in place, with half-split pairs as in Hugging Face. Of the first R
 * elements of a head, a = x[j] and b = x[j + R/2] become
 *   a' = a·cos − b·sin,  b' = b·cos + a·sin, with cos and sin from their tables at [position, j].
 * The other elements stay.
 * The gradient is the same operation with `inverse`: a rotation by the negative angle.
 */
import type { Tensor } from "../../tensor.ts";

export interface RopeArgs {
  x: Tensor; // [rows, heads·headDim], changed in place
  cos: Tensor; // [maxPositions, rotaryDim/2]
  sin: Tensor; // [maxPositions, rotaryDim/2]
  positions: Tensor; // u32 [rows]
  rows: number;
  heads: number;
  /** Even. */
  headDim: number;
  /** Even, at most headDim, which is the default. */
  rotaryDim?: number;
  inverse?: boolean;
}
