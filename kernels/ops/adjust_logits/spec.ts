/**
 * Rules of sampling that change single logits, before temperature (transformers' logits processors):
 *   repetition penalty (Keskar et al. 2019, CTRL): out[r, t] = l/penalty where l = logits[r, t] > 0, else
 *     l·penalty, for every token t that stands in the row's prompt or completion, once however often;
 *   forbidden tokens: out[r, t] = −∞, for end tokens before a completion's least length;
 *   out[r, t] = l elsewhere.
 * Which tokens have been seen is a set of bits for each slot that stays on the device: the operation adds the
 * newest token before it reads the set, so that no list of tokens has to come from the host.
 */
import type { Tensor } from "../../tensor.ts";

export interface AdjustLogitsArgs {
  logits: Tensor; // [rows, vocab]
  out: Tensor; // [rows, vocab]
  rows: number;
  vocab: number;
  /** > 0; 1 = off. */
  penalty: number;
  /** Token t of slot s: bit t mod 32 of word s·⌈vocab/32⌉ + ⌊t/32⌋. With `slots`; absent = no penalty. */
  seen?: Tensor; // u32 [slots, ⌈vocab/32⌉]
  /** The rows' slots, each another one. */
  slots?: Tensor; // u32 [rows]
  /** Tokens to add to `seen` first; absent = none. */
  newest?: Tensor; // u32 [rows]
  /** Absent = none. */
  forbidden?: Tensor; // u32 [forbiddenCount]
  forbiddenCount: number;
}

/** Words of the set of seen tokens of one slot. */
export function seenWords(vocab: number): number {
  return Math.ceil(vocab / 32);
}
