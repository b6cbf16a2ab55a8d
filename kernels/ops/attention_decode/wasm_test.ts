/** Attention of new tokens on the CPU device, beyond the conformance suite. */
import { strict as assert } from "node:assert";
import type { HostArray } from "../../tensor.ts";
import { attentionDecodeCases } from "../../conformance/cases/attention_testing.ts";
import { execute } from "../../conformance/runner_testing.ts";
import { createWasmDevice } from "../../devices/wasm/device.ts";

Deno.test("attention of new tokens has the same bits on any number of threads", async () => {
  // Those of many branches, or with long prompts or completions.
  const cases = attentionDecodeCases().filter(({ name }) => /^(3|5|20) branches/.test(name));
  const expected: HostArray[] = [];
  for (const threads of [1, 5, 16]) {
    using device = await createWasmDevice({ threads });
    await device.ready();
    for (const [i, test] of cases.entries()) {
      const found = (await execute(device, test)).get("out")!;
      assert.ok(found.every(Number.isFinite));
      assert.deepEqual(found, expected[i] ??= found, `${threads} threads, ${test.name}`);
    }
  }
});
