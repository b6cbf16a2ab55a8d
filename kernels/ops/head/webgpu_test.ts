/**
 * The fused head on the GPU with tensors beyond one binding, so that every tensor is divided; so is
 * the table of an embedding.
 */
import assert from "node:assert/strict";
import { headBackwardCases, headCases } from "../../conformance/cases/head_testing.ts";
import { type Case, checkCase } from "../../conformance/runner_testing.ts";
import {
  storedGatherCase,
  storedHeadCases,
} from "../../conformance/cases/stored_weights_testing.ts";
import { normals, stream, upload } from "../../testing.ts";
import { testOnWebgpu } from "../../devices/webgpu/testing.ts";

/** Room for 64 rows of 64 logits: both rows and tokens are divided into chunks. */
const LIMITS = { bindingElements: 4096 };

/** The cases with more rows or more tokens than a chunk has, some with both. */
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

/** Room for 64 rows of 256 logits: the smallest parts that weights in blocks are divided into. */
testOnWebgpu("stored weights beyond one binding", { bindingElements: 2 ** 14 }, async (device) => {
  const random = stream("stored beyond one binding");
  const pairs = Array.from({ length: 80 }, (_, i) => i % 3);
  for (const weightType of ["q4_0", "nf4", "bf16"] as const) {
    for (const test of await storedHeadCases(random, weightType, 700, 192, pairs)) {
      await checkCase(device, test);
    }
    await checkCase(device, storedGatherCase(random, weightType, 90, 192, 700));
  }
});

testOnWebgpu("the head's memory is bounded", { bindingElements: 2 ** 15 }, async (device) => {
  const rows = 700, vocab = 3000, d = 8, random = stream("memory of the head");
  const args = {
    hidden: upload(device, normals(random, rows * d)),
    weight: upload(device, normals(random, vocab * d)),
    pairStart: upload(device, Uint32Array.from({ length: rows + 1 }, (_, r) => r)),
    targets: upload(device, new Uint32Array(rows)),
    lse: device.create("float", rows, "lse"),
    entropy: device.create("float", rows, "entropy"),
  };
  const logp = device.create("float", rows, "logp");
  const dhidden = device.create("float", rows * d, "dhidden");
  const sizes = { rows, pairs: rows, vocab, d, temperature: 1 }, before = device.allocatedBytes;
  device.resetPeak();
  device.run("head", { ...args, ...sizes, logp });
  device.run("head_backward", { ...args, ...sizes, dlogp: logp, dhidden });
  const maxBytes = 4 * 1.2 * 2 ** 15;
  assert.ok(device.peakBytes - before < maxBytes, `${device.peakBytes - before} bytes`);
  assert.ok((await device.read(dhidden)).every(Number.isFinite));
  for (const tensor of [...Object.values(args), logp, dhidden]) device.free(tensor);
  assert.equal(device.allocatedBytes, 0);
});
