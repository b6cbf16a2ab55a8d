/**
 * Cases of adjust_logits: all pairs of rules, sets of all densities, allowed tokens, slots in
 * reverse order.
 */
import { seenWords } from "../../ops/adjust_logits/spec.ts";
import { junk, normals, stream } from "../../testing.ts";
import { type Case, exact, relative, testCase } from "../runner_testing.ts";

const SHAPES = [
  ...[1, 2, 31, 32, 33, 64, 65, 1009].flatMap((vocab) =>
    [0, 1, 2, 7].map((rows) => [rows, vocab] as const)
  ),
  // Large enough for several threads.
  [37, 5003],
  // More than 64 rows: split when a binding is too small for all.
  [70, 1009],
] as const;

export function adjustLogitsCases(): Case[] {
  return SHAPES.flatMap(([rows, vocab], i) => {
    const random = stream(`adjust logits ${rows} ${vocab}`), shape = `[${rows}×${vocab}]`;
    const logits = normals(random, rows * vocab, 3), slotCount = rows + 2;
    // The last logit is 0, which no penalty changes.
    if (rows > 0) logits[rows * vocab - 1] = 0;
    const token = () => random.u32() % vocab;
    const seen = () => {
      const set = new Uint32Array(slotCount * seenWords(vocab));
      for (let slot = 0; slot < slotCount; slot++) {
        for (let n = random.u32() % (2 * vocab + 1); n > 0; n--) {
          const t = token();
          set[slot * seenWords(vocab) + (t >>> 5)]! |= 1 << (t & 31);
        }
      }
      return set;
    };
    const slots = Uint32Array.from({ length: rows }, (_, r) => slotCount - 1 - r);
    const newest = Uint32Array.from({ length: rows }, token);
    const forbidden = Uint32Array.from({ length: 1 + i % 3 }, token);
    const allowed = Uint32Array.from({ length: rows * seenWords(vocab) }, () => random.u32());
    const forbid = { forbidden, forbiddenCount: forbidden.length };
    const make = (name: string, penalty: number, more: object, forbids: object = forbid) => {
      const args = { logits, out: junk(rows * vocab), rows, vocab, penalty };
      const outputs = penalty === 1 ? { out: exact } : { out: relative(3e-7, 0), seen: exact };
      const sets = penalty === 1 ? {} : { seen: seen(), slots };
      const all = { ...args, forbiddenCount: 0, ...sets, ...more, ...forbids };
      return testCase("adjust_logits", `${shape} ${name}`, all, outputs);
    };
    return [
      make("nothing", 1, {}, {}),
      make("forbidden", 1, {}),
      make("penalty of the prompt", 1.25, {}, {}),
      make("reward, newest and forbidden", 0.7, { newest }),
      make("allowed, penalty and forbidden", 1.5, { allowed }),
    ];
  });
}
