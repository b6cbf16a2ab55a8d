/** Weights in bfloat16 on the GPU: tensors beyond one binding, and the texts of the kernels. */
import assert from "node:assert/strict";
import { testOnWebgpu } from "../../devices/webgpu/testing.ts";
import { createReferenceDevice } from "../../devices/reference/device.ts";
import { normals, sameBits, stream } from "../../testing.ts";
import { execute } from "../../conformance/runner_testing.ts";

testOnWebgpu(
  "bfloat16 weights of tensors beyond one binding",
  { bindingElements: 256 },
  async (device) => {
    const n = 256 * 3 + 34,
      x = normals(stream("halves in parts"), n),
      reference = createReferenceDevice();
    const weight = new Uint32Array(n / 2), rest = new Uint32Array(n / 2);
    const key = { first: 512, c1: 3, c2: 1, c3: 7 << 24, seedLow: 9, seedHigh: 1 };
    for (const more of [{}, { rest }]) {
      const args = { x, weight, n, ...key, ...more };
      const found = await execute(device, { op: "round_bf16", args });
      const expected = await execute(reference, { op: "round_bf16", args });
      for (const [name, value] of found) assert.ok(sameBits(value, expected.get(name)!), name);
      const halves = found.get("weight") as Uint32Array, out = new Float32Array(n);
      const wide = { op: "widen_bf16", args: { weight: halves, out, n, ...more } } as const;
      const values = (await execute(device, wide)).get("out")!;
      assert.ok(sameBits(values, (await execute(reference, wide)).get("out")!));
    }
    reference.close();
  },
);
