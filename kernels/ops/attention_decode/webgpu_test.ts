/**
 * Attention while decoding on the GPU: caches beyond one binding, other tiles, its kernels' text.
 */
import assert from "node:assert/strict";
import { attentionDecodeCases } from "../../conformance/cases/attention_testing.ts";
import { checkCase } from "../../conformance/runner_testing.ts";
import { testOnWebgpu } from "../../devices/webgpu/testing.ts";

const FIVE = "5 branches, prompt 90, new 40, heads";

for (
  const { bindingElements, heads, dispatches } of [
    // Parts of 2 slots and 80 prompt rows.
    { bindingElements: 10_240, heads: "6,2,64", dispatches: 2 + 4 + 1 },
    // The same, although views begin at multiples of 64 elements and rows have 12.
    { bindingElements: 1024, heads: "2,1,12", dispatches: 2 + 4 + 1 },
    { bindingElements: 2 ** 24, heads: "6,2,64", dispatches: 1 + 1 + 1 },
  ]
) {
  testOnWebgpu(
    `decoding with heads ${heads} and caches in bindings of ${bindingElements} elements`,
    { bindingElements },
    async (device) => {
      const test = attentionDecodeCases().find(({ name }) => name === `${FIVE} ${heads}`)!;
      await checkCase(device, test);
      assert.equal(device.counters.dispatches, 2 * dispatches);
    },
  );
}

testOnWebgpu(
  "decoding in 16 KiB of workgroup memory",
  { workgroupBytes: 16_384 },
  async (device) => {
    const cases = attentionDecodeCases().filter(({ name }) => name.startsWith(FIVE));
    assert.ok(cases.length > 5);
    for (const test of cases) await checkCase(device, test);
  },
);
