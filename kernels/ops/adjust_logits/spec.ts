/**
 * Sampling rules that change single logits before the temperature is applied (the logits processors
 * of transformers). With l = logits[r, t]:
 *   repetition penalty (Keskar et al. 2019, CTRL), for every token t of the row's prompt or
 *     completion: out[r, t] = l/penalty where l > 0, else l·penalty. It is applied once, however
 *     often the token occurs.
 *   forbidden tokens (end tokens before a completion has its minimum length): out[r, t] = −∞.
 *   tokens that are not allowed (in a constrained completion): out[r, t] = −∞.
 *   all other tokens: out[r, t] = l.
 * The tokens that a sequence contains are kept on the device, as a bit set for each slot. The
 * operation adds the newest token before it reads the set, so the host sends no lists of tokens.
 */
import type { Tensor } from "../../tensor.ts";

export interface AdjustLogitsArgs {
  logits: Tensor; // [rows, vocab]
  out: Tensor; // [rows, vocab]
  rows: number;
  vocab: number;
  /** > 0; 1 = off. */
  penalty: number;
  /**
   * Bit sets of the tokens seen: token t of slot s is bit t mod 32 of word s·⌈vocab/32⌉ + ⌊t/32⌋.
   * Needs `slots`; absent = no penalty.
   */
  seen?: Tensor; // u32 [slots, ⌈vocab/32⌉]
  /** The slot of each row; no two rows share one. */
  slots?: Tensor; // u32 [rows]
  /** Tokens that are added to `seen` first; absent = none. */
  newest?: Tensor; // u32 [rows]
  /** Forbidden tokens; absent = none. */
  forbidden?: Tensor; // u32 [forbiddenCount]
  forbiddenCount: number;
  /** Bit sets of each row's allowed tokens, as those in `seen`; absent = all. */
  allowed?: Tensor; // u32 [rows, ⌈vocab/32⌉]
}

/** Number of words in the bit set of one slot. */
export function seenWords(vocab: number): number {
  return Math.ceil(vocab / 32);
}
