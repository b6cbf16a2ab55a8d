/**
 * Trained weights in bfloat16. An optimizer step works on float32 values of a part of a weight:
 *
 * widen_bf16:
 *   out = the value of `weight`, plus that of `rest` if there is one
 *
 * round_bf16 rounds x to `weight`:
 *   "stochastic": to one of the two neighbours. With the lower 16 bits of x, which are lost, as an
 *     integer b, it is the neighbour farther from zero with probability b/2^16. So the mean of the
 *     results is x. The random number of element i is the lower half of word i mod 4 of
 *     Philox(seed; c0 = ⌊i/4⌋, c1, c2, c3), i counted from `first`. It depends on nothing else.
 *   "kahan": to the nearest, and `rest` gets the nearest to what that leaves: x − weight (Kahan's
 *     compensation, kept as a second number).
 * Nearest is as in torch: ties to even. Two values are in a word, that of the even index lower.
 */
import type { Tensor } from "../../tensor.ts";

export interface WidenBf16Args {
  weight: Tensor; // u32 [n / 2]
  rest?: Tensor; // u32 [n / 2]
  out: Tensor; // [n]
  /** Even. */
  n: number;
}

export interface RoundBf16Args {
  x: Tensor; // [n]
  weight: Tensor; // u32 [n / 2]
  /** Given: Kahan's rounding; absent: stochastic rounding. */
  rest?: Tensor; // u32 [n / 2]
  /** Even. */
  n: number;
  /** Number of the first element, a multiple of 4; the counters are unused with `rest`. */
  first: number;
  c1: number;
  c2: number;
  c3: number;
  seedLow: number;
  seedHigh: number;
}
