/** Reference of adjust_logits. */
import { floats, words } from "../common/reference_tensor.ts";
import { type AdjustLogitsArgs, seenWords } from "./spec.ts";

export function adjustLogits(args: AdjustLogitsArgs): void {
  const { rows, vocab, penalty, forbiddenCount } = args;
  const logits = floats(args.logits), out = floats(args.out), width = seenWords(vocab);
  const seen = args.seen && words(args.seen), slots = args.slots && words(args.slots);
  const newest = args.newest && words(args.newest);
  const forbidden = args.forbidden && words(args.forbidden);
  const allowed = args.allowed && words(args.allowed);
  for (let r = 0; r < rows; r++) {
    const first = seen ? slots![r]! * width : 0;
    if (seen && newest) {
      const token = newest[r]!;
      seen[first + (token >>> 5)]! |= 1 << (token & 31);
    }
    for (let t = 0; t < vocab; t++) {
      const l = logits[r * vocab + t]!;
      const penalized = seen && seen[first + (t >>> 5)]! >>> (t & 31) & 1;
      out[r * vocab + t] = !penalized ? l : l > 0 ? l / penalty : l * penalty;
    }
    for (let t = 0; allowed && t < vocab; t++) {
      if (!(allowed[r * width + (t >>> 5)]! >>> (t & 31) & 1)) out[r * vocab + t] = -Infinity;
    }
    for (let i = 0; i < forbiddenCount; i++) out[r * vocab + forbidden![i]!] = -Infinity;
  }
}
