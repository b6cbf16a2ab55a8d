/** Attention on the GPU: the names and the sizes of its tiles. */
import assert from "node:assert/strict";
import { attentionCases } from "../../conformance/cases/attention_testing.ts";
import { checkCase } from "../../conformance/runner_testing.ts";
import type { WebgpuContext } from "../common/webgpu_op.ts";
import { testOnWebgpu } from "../../devices/webgpu/testing.ts";
import { attentionTile, forwardChoice } from "./choose.ts";
import type { AttentionForwardArgs } from "./spec.ts";

testOnWebgpu("kernels of earlier versions are known by their names", {}, async (device) => {
  const test = attentionCases().find(({ name }) => name.endsWith("heads 4,4,16"));
  const shape = forwardChoice.classOf(test!.args as unknown as AttentionForwardArgs, device)!;
  for (const name of ["matrix", "8x16x4 subgroups"]) {
    device.kernelChoices = { [shape]: name };
    await checkCase(device, test!);
  }
  device.kernelChoices = { [shape]: "no kernel" };
  await assert.rejects(() => checkCase(device, test!), /there is no tile/);
});

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
