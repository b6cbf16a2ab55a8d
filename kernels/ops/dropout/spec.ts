/**
 * Inverted dropout (Srivastava et al. 2014) with a mask that is computed and never stored:
 *   out[r, j] = x[r, j]/(1 − p) where element (r, j) is kept, else 0 (whatever x is). With
 *   `accumulate` that is added to out.
 * An element is kept where a random word is at least ⌊p·2^32⌋ (`dropoutThreshold`). The word is
 * word j mod 4 of Philox(seed; c0 = site·2^18 + ⌊j/4⌋, c1, c2, c3), where c1, c2, c3 are the row's
 * keys. The mask therefore depends only on the seed, the site, the row's keys and the column. It
 * does not depend on the batch, the order of its rows or the grid.
 * The gradient is the same operation with the same keys, applied to the gradient of the output.
 */
import type { Tensor } from "../../tensor.ts";

/** Maximum number of places in a model with different masks. */
export const SITES = 2 ** 14;
/** Maximum number of columns in a row. */
export const COLUMNS = 2 ** 20;

export interface DropoutArgs {
  x: Tensor; // [rows, d]
  keys: Tensor; // u32 [rows, 3]: c1, c2, c3 (core/philox.ts, dropoutCounter)
  /** May be x without `accumulate`. */
  out: Tensor; // [rows, d]
  rows: number;
  d: number;
  /** Probability that an element is dropped, in [0, 1). */
  p: number;
  /** Number of the place in the model, less than SITES. */
  site: number;
  seedLow: number;
  seedHigh: number;
  /** Adds to out instead of overwriting it; default false. */
  accumulate?: boolean;
}

/** Elements whose random word is less than this are dropped. */
export function dropoutThreshold(p: number): number {
  return Math.floor(p * 2 ** 32);
}
