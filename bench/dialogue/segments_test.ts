/** Completions that grow in segments, and which of their tokens the loss and the lengths count. */
import assert from "node:assert/strict";
import { idsOf, logprobsOf, lossMask, sampledTokens, type Segment } from "./segments.ts";

Deno.test("ids are in one row, and only the model's own tokens are trained on and counted", () => {
  const answer: Segment = { from: "model", ids: [1, 2], logprobs: [-1, -2] };
  assert.deepEqual(idsOf({ segments: [answer] }), [1, 2]);
  assert.equal(lossMask({ segments: [answer] }), null);
  const segments: Segment[] = [
    answer,
    { from: "closing", ids: [3], logprobs: [0] },
    { from: "environment", ids: [4, 5], logprobs: [0, 0] },
    { from: "model", ids: [6], logprobs: [-3] },
  ];
  assert.deepEqual(idsOf({ segments }), [1, 2, 3, 4, 5, 6]);
  assert.deepEqual(logprobsOf({ segments }), [-1, -2, 0, 0, 0, -3]);
  assert.deepEqual(lossMask({ segments }), [1, 1, 0, 0, 0, 1]);
  assert.equal(sampledTokens({ segments }), 3);
});
