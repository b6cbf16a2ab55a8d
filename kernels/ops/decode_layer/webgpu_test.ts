/** decode_layer on the GPU: a cache beyond one binding, and the text of its kernel. */
import assert from "node:assert/strict";
import { decodeLayerCases } from "../../conformance/cases/decode_layer_testing.ts";
import { checkCase } from "../../conformance/runner_testing.ts";
import { testOnWebgpu } from "../../devices/webgpu/testing.ts";

testOnWebgpu(
  "a decoding layer with a cache beyond one binding",
  { bindingElements: 9 * 32 * 16 },
  async (device) => {
    const test = decodeLayerCases().find(({ name }) => name.startsWith("16 branches"))!;
    await checkCase(device, test);
    const large = decodeLayerCases().find(({ name }) => name.startsWith("37 branches"))!;
    assert.ok((large.args as unknown as { branchK: Float32Array }).branchK.length > 9 * 32 * 16);
    await checkCase(device, large);
  },
);
