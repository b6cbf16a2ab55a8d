/** Byte-pair merging against the plainest way to do it, on random merges and words. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { assertFast } from "../../../core/time_limit_testing.ts";
import { MergeTable } from "./merge_table.ts";

type Merge = [left: number, right: number, result: number];

/** Merges the leftmost pair of the lowest rank again and again. */
function mergedPlainly(merges: readonly Merge[], word: readonly number[]): number[] {
  const symbols = [...word];
  for (;;) {
    let best = -1, rank = merges.length;
    for (let at = 0; at + 1 < symbols.length; at++) {
      const found = merges.findLastIndex(([left, right]) =>
        left === symbols[at] && right === symbols[at + 1]
      );
      if (found >= 0 && found < rank) [best, rank] = [at, found];
    }
    if (best < 0) return symbols;
    symbols.splice(best, 2, merges[rank]![2]);
  }
}

function merged(merges: readonly Merge[], words: readonly number[][]): number[][] {
  const table = new MergeTable(Int32Array.from(merges.flat()));
  return words.map((word) => {
    const ids: number[] = [];
    table.merge(word, ids);
    return ids;
  });
}

Deno.test("any merges on any words: as the plainest merging does", () => {
  const words = fc.array(fc.array(fc.nat(3), { maxLength: 30 }), { minLength: 1, maxLength: 3 });
  // Each merge joins two tokens that are there already, as training a vocabulary does.
  const merges = fc.array(fc.nat(), { maxLength: 12 }).map((choices) =>
    choices.map((choice, i): Merge => {
      const known = 4 + i;
      return [choice % known, Math.floor(choice / known) % known, known];
    })
  );
  fc.assert(fc.property(merges, words, (merges, words) => {
    assert.deepEqual(
      merged(merges, words),
      words.map((word) => mergedPlainly(merges, word)),
    );
  }));
});

Deno.test("a word of 200,000 characters that merge all over is done at once", () => {
  const merges = Array.from({ length: 10 }, (_, i): Merge => [i, i, i + 1]);
  const word = Array.from({ length: 200_000 }, () => 0);
  assertFast(1000, () => merged(merges, [word]));
});
