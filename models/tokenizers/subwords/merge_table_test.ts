/** Byte-pair merging against the plainest way to do it, on random merges and words. */
import { assertFast } from "../../../core/time_limit_testing.ts";
import { MergeTable } from "./merge_table.ts";

type Merge = [left: number, right: number, result: number];

function merged(merges: readonly Merge[], words: readonly number[][]): number[][] {
  const table = new MergeTable(Int32Array.from(merges.flat()));
  return words.map((word) => {
    const ids: number[] = [];
    table.merge(word, ids);
    return ids;
  });
}

Deno.test("a word of 200,000 characters that merge all over is done at once", () => {
  const merges = Array.from({ length: 10 }, (_, i): Merge => [i, i, i + 1]);
  const word = Array.from({ length: 200_000 }, () => 0);
  assertFast(1000, () => merged(merges, [word]));
});
