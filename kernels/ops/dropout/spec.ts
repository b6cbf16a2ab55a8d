/**
 * Inverted dropout (Srivastava et al. 2014) with a mask that is computed and never stored:
 *   out[r, j] = x[r, j]/(1 − p) where element (r, j) is kept, else 0 (whatever x is); added to out with
 *   `accumulate`.
 * Kept means word ≥ ⌊p·2^32⌋ (`dropoutThreshold`), with word = word j mod 4 of
 * Philox(seed; c0 = site·2^18 + ⌊j/4⌋, c1, c2, c3), whose c1, c2, c3 are the row's keys. So a mask depends on
 * the seed, the site, the row's keys and the column only: not on the batch, the order of its rows or the grid.
 * The gradient is the same operation, with the same keys, on the gradient by the output.
 */
import type { Tensor } from "../../tensor.ts";

/** Places in a model that can have masks of their own. */
export const SITES = 2 ** 14;
/** Most columns of a row. */
export const COLUMNS = 2 ** 20;

export interface DropoutArgs {
  x: Tensor; // [rows, d]
  keys: Tensor; // u32 [rows, 3]: c1, c2, c3 (core/philox.ts, dropoutCounter)
  /** May be x, unless `accumulate`. */
  out: Tensor; // [rows, d]
  rows: number;
  d: number;
  /** Probability of dropping an element, in [0, 1). */
  p: number;
  /** Number of the place in the model, below SITES. */
  site: number;
  seedLow: number;
  seedHigh: number;
  /** Add to out instead of replacing it; default false. */
  accumulate?: boolean;
}

/** Elements whose word is below this are dropped. */
export function dropoutThreshold(p: number): number {
  return Math.floor(p * 2 ** 32);
}
