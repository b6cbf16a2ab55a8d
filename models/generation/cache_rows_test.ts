import assert from "node:assert/strict";
import fc from "fast-check";
import { CacheRows, type RowRange } from "./cache_rows.ts";

Deno.test("runs of cache rows are lent, given back and joined", () => {
  const cache = new CacheRows(10, 2);
  const a = cache.take(3, 3)!, b = cache.take(2, 2)!, c = cache.take(1, 9)!;
  assert.deepEqual([a, b, c], [{ begin: 0, end: 3 }, { begin: 4, end: 6 }, { begin: 6, end: 10 }]);
  assert.equal(cache.free, 1, "the row before an aligned run stays free");
  assert.equal(cache.take(1, 1), null, "but no run begins there");
  cache.give({ begin: 4, end: 5 });
  cache.give(a);
  assert.deepEqual(cache.take(5, 7), { begin: 0, end: 5 }, "as much as the longest hole has");
  assert.equal(cache.take(1, 1), null);
  for (const run of [{ begin: 0, end: 5 }, { begin: 5, end: 6 }, c]) cache.give(run);
  assert.deepEqual(cache.take(10, 10), { begin: 0, end: 10 }, "nothing is lost");
  assert.equal(new CacheRows(0, 1).take(1, 1), null);
});

Deno.test("runs never overlap, begin at multiples, and an empty cache takes anything", () =>
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 200 }),
      fc.integer({ min: 1, max: 8 }),
      fc.array(fc.tuple(fc.nat({ max: 40 }), fc.nat({ max: 40 }), fc.boolean()), { maxLength: 60 }),
      (rows, align, steps) => {
        const cache = new CacheRows(rows, align), held: RowRange[] = [];
        const owner = new Array<boolean>(rows).fill(false);
        for (const [least, more, give] of steps) {
          if (give && held.length > 0) {
            const [run] = held.splice(least % held.length, 1);
            const middle = Math.min(run!.end, run!.begin + more);
            cache.give({ begin: middle, end: run!.end });
            cache.give({ begin: run!.begin, end: middle });
            owner.fill(false, run!.begin, run!.end);
          } else {
            const run = cache.take(least + 1, least + 1 + more);
            if (run === null) continue;
            assert.equal(run.begin % align, 0);
            const length = run.end - run.begin;
            assert.ok(length > least && length <= least + 1 + more && run.end <= rows);
            for (let row = run.begin; row < run.end; row++) {
              assert.ok(!owner[row], `row ${row} is lent twice`);
              owner[row] = true;
            }
            held.push(run);
          }
          assert.equal(cache.free, owner.filter((taken) => !taken).length);
        }
        for (const run of held) cache.give(run);
        assert.deepEqual(cache.take(rows, rows), { begin: 0, end: rows });
      },
    ),
  ));
