/** The fused head on the GPU beyond one binding: every tensor and every chunk is cut. */
import assert from "node:assert/strict";
import { headBackwardCases, headCases } from "../conformance/head.ts";
import { type Case, checkCase } from "../conformance/runner.ts";
import { checkSnapshot, testOnWebgpu } from "../webgpu/testing.ts";
import { fromMean, logitSlopes, mergeLogits } from "./rows.wgsl.ts";

/** 64 rows of 64 logits: chunks are cut in rows and in tokens, weights between tokens. */
const LIMITS = { bindingElements: 4096 };

/** Those with more rows or tokens than a chunk has, some of both kinds. */
function large(cases: Case[]): Case[] {
  const picked = cases.filter(({ name }) =>
    ["pairs [8,1,1,1,0,2,1], vocab 1025, d 33", "530 rows", "sharp"].some((x) => name.startsWith(x))
  );
  assert.ok(picked.length > 3);
  return picked;
}

testOnWebgpu("the head of tensors beyond one binding", LIMITS, async (device) => {
  for (const test of large(headCases())) await checkCase(device, test);
});

testOnWebgpu("the head's backward of tensors beyond one binding", LIMITS, async (device) => {
  for (const test of large(await headBackwardCases())) await checkCase(device, test);
});

Deno.test("the text of the head's kernels is as it was", async () => {
  const rows = { invocations: 256, vectors: true };
  await checkSnapshot(import.meta, "merge", mergeLogits({ ...rows, mean: false }));
  await checkSnapshot(import.meta, "merge_mean", mergeLogits({ ...rows, mean: true }));
  await checkSnapshot(import.meta, "slopes", logitSlopes({ ...rows, dentropy: true }));
  await checkSnapshot(import.meta, "from_mean", fromMean({ invocations: 256 }));
});
