/**
 * Attention on the GPU: limits that need other tiles and parts of the queries; its kernels' text.
 */
import assert from "node:assert/strict";
import {
  attentionBackwardCases,
  attentionCases,
} from "../../conformance/cases/attention_testing.ts";
import { type Case, checkCase } from "../../conformance/runner_testing.ts";
import type { WebgpuContext } from "../common/webgpu_op.ts";
import { testOnWebgpu } from "../../devices/webgpu/testing.ts";
import { attentionTile, forwardChoice } from "./choose.ts";
import type { AttentionArgs, AttentionForwardArgs } from "./spec.ts";

/** The cases of two layouts, one of which is the largest. */
function twoLayouts(cases: Case[], heads: RegExp): Case[] {
  const picked = cases.filter(({ name }) => /^\[\[(2|70),/.test(name) && heads.test(name));
  assert.ok(picked.length >= 2);
  return picked;
}

testOnWebgpu(
  "attention in 16 KiB of workgroup memory",
  { workgroupBytes: 16_384 },
  async (device) => {
    const heads = /heads (4,4,16|3,1,80|2,2,128|2,1,256)$/;
    for (const test of twoLayouts(attentionCases(), heads)) await checkCase(device, test);
    for (const test of twoLayouts(await attentionBackwardCases(), heads)) {
      await checkCase(device, test);
    }
  },
);

testOnWebgpu("kernels of earlier versions are known by their names", {}, async (device) => {
  const [test] = twoLayouts(attentionCases(), /heads 4,4,16$/);
  const shape = forwardChoice.classOf(test!.args as unknown as AttentionForwardArgs, device)!;
  for (const name of ["matrix", "8x16x4 subgroups"]) {
    device.kernelChoices = { [shape]: name };
    await checkCase(device, test!);
  }
  device.kernelChoices = { [shape]: "no kernel" };
  await assert.rejects(() => checkCase(device, test!), /there is no tile/);
});

testOnWebgpu(
  "attention with more queries than one binding holds",
  { bindingElements: 3 * 64 * 6 * 64 },
  async (device) => {
    for (const test of twoLayouts(attentionCases(), /heads 6,2,64$/)) {
      const before = device.counters.dispatches;
      await checkCase(device, test);
      const parts = (device.counters.dispatches - before) / 2;
      assert.equal(parts, test.name.startsWith("[[70") ? 3 : 1);
    }
  },
);

/** The largest layout has 398 rows. Its queries and keys are done in parts of so many rows. */
for (
  const { bindingElements, heads, parts, forward, backward } of [
    // Seven parts of the queries attend to one, two and three parts of the keys.
    {
      bindingElements: 64 * 6 * 64,
      heads: "6,2,64",
      parts: "64 queries, 192 keys",
      forward: 3 * 1 + 3 * 2 + 3,
      backward: 7 + 12 + 1 + 12,
    },
    // Rows of padded vectors; as many rows in a part of the keys.
    {
      bindingElements: 64 * 2 * 12,
      heads: "2,1,12",
      parts: "64 queries, 128 keys",
      forward: 2 * 1 + 2 * 2 + 2 * 3 + 4,
      backward: 7 + 16 + 1 + 16,
    },
    // Windows; all keys fit, and the sums of keys are in three parts for each part of the queries.
    {
      bindingElements: 192 * 7 * 6,
      heads: "7,1,6",
      parts: "192 queries, all keys",
      forward: 3,
      backward: 3 + 3 + 1 + 2 * 3,
    },
  ]
) {
  testOnWebgpu(
    `attention and its gradient with heads ${heads} in bindings of ${parts}`,
    { bindingElements },
    async (device) => {
      const all = [...attentionCases(), ...await attentionBackwardCases()];
      const picked = all.filter(({ name, args }) => {
        const shape = args as unknown as AttentionArgs;
        return shape.rows === 398 && !/^steep$|dout 0$|capped$|sinks$/.test(name) &&
          `${shape.heads},${shape.kvHeads},${shape.headDim}` === heads;
      });
      assert.deepEqual(picked.map(({ op }) => op), ["attention", "attention_backward"]);
      for (const test of picked) {
        const before = device.counters.dispatches;
        await checkCase(device, test);
        const dispatches = (device.counters.dispatches - before) / 2;
        assert.equal(dispatches, test.op === "attention" ? forward : backward, test.op);
      }
    },
  );
}

Deno.test("for every size of heads a tile fits the minimum workgroup memory", () => {
  const ctx = { limits: { workgroupBytes: 16_384 } } as WebgpuContext;
  for (let headDim = 2; headDim <= 256; headDim += 2) {
    for (const over of ["queries", "keys"] as const) {
      for (const products of [1, 2]) {
        const { across, down } = attentionTile(ctx, over, headDim, products);
        assert.ok(across * down <= 256);
      }
    }
  }
});
