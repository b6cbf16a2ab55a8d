/** The fused head on the GPU with weights beyond one binding, and its memory. */
import assert from "node:assert/strict";
import { checkCase } from "../../conformance/runner_testing.ts";
import {
  storedGatherCase,
  storedHeadCases,
} from "../../conformance/cases/stored_weights_testing.ts";
import { normals, stream, upload } from "../../testing.ts";
import { testOnWebgpu } from "../../devices/webgpu/testing.ts";

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
