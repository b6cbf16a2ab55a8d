import assert from "node:assert/strict";
import { packPrefill, sharedPrefixLength } from "./prefill_batch.ts";

Deno.test("a shared prefix never includes the last token of a prompt", () => {
  assert.equal(sharedPrefixLength([], [1]), 0);
  assert.equal(sharedPrefixLength([1, 2, 3], [1, 2, 4, 5]), 2);
  assert.equal(sharedPrefixLength([1, 2, 3], [1, 2, 3]), 2);
  assert.equal(sharedPrefixLength([1, 2, 3, 4], [1, 2, 3]), 2);
  assert.equal(sharedPrefixLength([1, 2], [1, 2, 3, 4]), 2);
});

Deno.test("prompts are packed without their shared prefixes, which are copied", () => {
  const packed = packPrefill(
    [
      {
        ids: [7, 8, 1, 2],
        cached: { begin: 32, end: 36 },
        shared: 2,
        source: { begin: 10, end: 13 },
      },
      { ids: [7, 8, 1, 3, 4], cached: { begin: 36, end: 41 }, shared: 3, source: null },
      { ids: [7, 8], cached: { begin: 41, end: 43 }, shared: 1, source: null },
      { ids: [9], cached: { begin: 43, end: 44 }, shared: 0, source: null },
    ],
    { vocabSize: 10, maxPositions: 8 },
  );
  assert.equal(packed.rows, 6);
  assert.deepEqual([...packed.tokens], [1, 2, 3, 4, 8, 9]);
  assert.deepEqual([...packed.positions], [2, 3, 3, 4, 1, 0]);
  assert.equal(packed.maxPosition, 4);
  assert.deepEqual([...packed.lastPromptRow], [1, 3, 4, 5]);
  assert.deepEqual([...packed.cacheRow], [34, 35, 39, 40, 42, 43]);
  assert.deepEqual([...packed.keys], [32, 36, 36, 41, 41, 43, 43, 44]);
  // Copies always come from computed rows, of this batch or an earlier one.
  assert.deepEqual([...packed.copies.from], [10, 11, 10, 11, 34, 10]);
  assert.deepEqual([...packed.copies.to], [32, 33, 36, 37, 38, 41]);
});
