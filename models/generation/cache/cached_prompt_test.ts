import assert from "node:assert/strict";
import { type CachedPrompt, releasePrompt, RowAllocator, sharedPrefixOf } from "./cached_prompt.ts";

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
