import assert from "node:assert/strict";
import { CacheRows } from "./cache_rows.ts";
import { alikeOf, type CachedPrompt, leavePrompt } from "./cached_prompt.ts";

/** A prompt of 64 rows behind `before`, with which it shares its first `shared` rows. */
function cached(cache: CacheRows, before: CachedPrompt | null, shared: number): CachedPrompt {
  const { begin, end } = cache.take(64, 64)!;
  return { begin, end, lentEnd: end, users: 1, alike: alikeOf(before, shared) };
}

Deno.test("prompts that begin alike all name the first one, in whole panels", () => {
  const cache = new CacheRows(320, 16), first = cached(cache, null, 0);
  const second = cached(cache, first, 57), third = cached(cache, second, 63);
  assert.equal(first.alike, null);
  assert.deepEqual([second.alike!.prompt, second.alike!.rows], [first, 48]);
  assert.deepEqual([third.alike!.prompt, third.alike!.rows], [first, 48]);
  // Too little of it is the first one's.
  const other = cached(cache, third, 20), near = cached(cache, other, 60);
  assert.deepEqual([other.alike!.prompt, other.alike!.rows], [first, 16]);
  assert.deepEqual([near.alike!.prompt, near.alike!.rows], [other, 48]);
  assert.equal(alikeOf(near, 15), null);
  assert.equal(first.users, 4);
});

Deno.test("a prompt stays in the cache as long as another names it", () => {
  const cache = new CacheRows(192, 16), first = cached(cache, null, 0);
  const second = cached(cache, first, 40), third = cached(cache, second, 40);
  leavePrompt(first, cache);
  leavePrompt(second, cache);
  assert.equal(cache.free, 64);
  leavePrompt(third, cache);
  assert.equal(cache.free, 192);
});
