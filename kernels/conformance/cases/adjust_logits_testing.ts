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
    const base = () => ({ logits, out: junk(rows * vocab), rows, vocab });
    const forbid = { forbidden, forbiddenCount: forbidden.length };
    const bound = relative(3e-7, 0);
    return [
      testCase("adjust_logits", `${shape} nothing`, {
        ...base(),
        penalty: 1,
        forbiddenCount: 0,
      }, { out: exact }),
      testCase("adjust_logits", `${shape} forbidden`, { ...base(), penalty: 1, ...forbid }, {
        out: exact,
      }),
      testCase(
        "adjust_logits",
        `${shape} penalty of the prompt`,
        { ...base(), penalty: 1.25, seen: seen(), slots, forbiddenCount: 0 },
        { out: bound, seen: exact },
      ),
      testCase(
        "adjust_logits",
        `${shape} reward, newest and forbidden`,
        { ...base(), penalty: 0.7, seen: seen(), slots, newest, ...forbid },
        { out: bound, seen: exact },
      ),
      testCase(
        "adjust_logits",
        `${shape} allowed, penalty and forbidden`,
        { ...base(), penalty: 1.5, seen: seen(), slots, allowed, ...forbid },
        { out: bound, seen: exact },
      ),
    ];
  });
}
