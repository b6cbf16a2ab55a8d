/**
 * Rotary position embedding, half-split pairs (Hugging Face): a = x[j], b = x[j + D/2],
 *   a' = a·cos − b·sin,  b' = b·cos + a·sin, angle = table[position, j].
 * In place. The backward is the same with `inverse` (rotation by the negative angle).
 */
import type { Tensor } from "../../tensor.ts";

export interface RopeArgs {
  x: Tensor; // [rows, heads·headDim], changed in place
  cos: Tensor; // [maxPositions, headDim/2]
  sin: Tensor; // [maxPositions, headDim/2]
  positions: Tensor; // u32 [rows]
  rows: number;
  heads: number;
  /** Even. */
  headDim: number;
  inverse?: boolean;
}
