import assert from "node:assert/strict";
import fc from "fast-check";
import {
  type CachedPrompt,
  releasePrompt,
  RowAllocator,
  type RowRange,
  sharedPrefixOf,
} from "./cached_prompt.ts";

/** A prompt of 64 rows that shares its first `shared` rows with `before`. */
function cached(cache: RowAllocator, before: CachedPrompt | null, shared: number): CachedPrompt {
  const { begin, end } = cache.allocate(64, 64)!;
  return {
    begin,
    end,
    allocatedEnd: end,
    references: 1,
    sharedPrefix: sharedPrefixOf(before, shared),
  };
}

Deno.test("prompts with a shared prefix all refer to the first one, in whole panels", () => {
  const cache = new RowAllocator(320, 16), first = cached(cache, null, 0);
  const second = cached(cache, first, 57), third = cached(cache, second, 63);
  assert.equal(first.sharedPrefix, null);
  assert.deepEqual([second.sharedPrefix!.prompt, second.sharedPrefix!.rows], [first, 48]);
  assert.deepEqual([third.sharedPrefix!.prompt, third.sharedPrefix!.rows], [first, 48]);
  // Too little of its prefix is in the first prompt.
  const other = cached(cache, third, 20), near = cached(cache, other, 60);
  assert.deepEqual([other.sharedPrefix!.prompt, other.sharedPrefix!.rows], [first, 16]);
  assert.deepEqual([near.sharedPrefix!.prompt, near.sharedPrefix!.rows], [other, 48]);
  assert.equal(sharedPrefixOf(near, 15), null);
  assert.equal(first.references, 4);
});

Deno.test("a prompt stays in the cache as long as another refers to it", () => {
  const cache = new RowAllocator(192, 16), first = cached(cache, null, 0);
  const second = cached(cache, first, 40), third = cached(cache, second, 40);
  releasePrompt(first, cache);
  releasePrompt(second, cache);
  assert.equal(cache.freeRows, 64);
  releasePrompt(third, cache);
  assert.equal(cache.freeRows, 192);
});

Deno.test("runs of cache rows are allocated, released and joined", () => {
  const cache = new RowAllocator(10, 2);
  const a = cache.allocate(3, 3)!, b = cache.allocate(2, 2)!, c = cache.allocate(1, 9)!;
  assert.deepEqual([a, b, c], [{ begin: 0, end: 3 }, { begin: 4, end: 6 }, { begin: 6, end: 10 }]);
  assert.equal(cache.freeRows, 1, "the row before an aligned run stays free");
  assert.equal(cache.allocate(1, 1), null, "but no run begins there");
  cache.release({ begin: 4, end: 5 });
  cache.release(a);
  assert.deepEqual(cache.allocate(5, 7), { begin: 0, end: 5 }, "as much as the longest hole has");
  assert.equal(cache.allocate(1, 1), null);
  for (const run of [{ begin: 0, end: 5 }, { begin: 5, end: 6 }, c]) cache.release(run);
  assert.deepEqual(cache.allocate(10, 10), { begin: 0, end: 10 }, "nothing is lost");
  assert.equal(new RowAllocator(0, 1).allocate(1, 1), null);
});

Deno.test("runs do not overlap and are aligned, and an empty cache has room for any run", () =>
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 200 }),
      fc.integer({ min: 1, max: 8 }),
      fc.array(fc.tuple(fc.nat({ max: 40 }), fc.nat({ max: 40 }), fc.boolean()), { maxLength: 60 }),
      (rows, align, steps) => {
        const cache = new RowAllocator(rows, align), held: RowRange[] = [];
        const owner = new Array<boolean>(rows).fill(false);
        for (const [below, more, release] of steps) {
          if (release && held.length > 0) {
            const [run] = held.splice(below % held.length, 1);
            const middle = Math.min(run!.end, run!.begin + more);
            cache.release({ begin: middle, end: run!.end });
            cache.release({ begin: run!.begin, end: middle });
            owner.fill(false, run!.begin, run!.end);
          } else {
            const run = cache.allocate(below + 1, below + 1 + more);
            if (run === null) continue;
            assert.equal(run.begin % align, 0);
            const length = run.end - run.begin;
            assert.ok(length > below && length <= below + 1 + more && run.end <= rows);
            for (let row = run.begin; row < run.end; row++) {
              assert.ok(!owner[row], `row ${row} is allocated twice`);
              owner[row] = true;
            }
            held.push(run);
          }
          assert.equal(cache.freeRows, owner.filter((taken) => !taken).length);
        }
        for (const run of held) cache.release(run);
        assert.deepEqual(cache.allocate(rows, rows), { begin: 0, end: rows });
      },
    ),
  ));
