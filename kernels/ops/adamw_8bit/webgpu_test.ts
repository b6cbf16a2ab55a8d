/** AdamW with 8-bit moments on the GPU: tensors beyond one binding, and the text of its kernel. */
import assert from "node:assert/strict";
import type { Device } from "../../device.ts";
import { testOnWebgpu } from "../../devices/webgpu/testing.ts";
import { createWebgpuDevice } from "../../devices/webgpu/device.ts";
import type { HostArray } from "../../tensor.ts";
import { normals, sameBits, stream } from "../../testing.ts";
import { execute } from "../../conformance/runner_testing.ts";
import { dynamicTables } from "./dynamic_map.ts";
import { BLOCK } from "./spec.ts";

testOnWebgpu(
  "AdamW with 8-bit moments of tensors beyond one binding",
  { bindingElements: 64 * BLOCK },
  async (device) => {
    const n = 2 * 64 * BLOCK + 700, random = stream("parts"), blocks = Math.ceil(n / BLOCK);
    const codes = new Uint32Array(n / 4).map(() => random.below(2 ** 32));
    const args = {
      param: normals(random, n),
      grad: normals(random, n, 0.1),
      n,
      tables: dynamicTables(),
      m: codes,
      v: codes.slice().reverse(),
      mMax: normals(random, blocks).map(Math.abs),
      vMax: normals(random, blocks).map(Math.abs),
      lr: 0.01,
      beta1: 0.9,
      beta2: 0.99,
      eps: 1e-8,
      weightDecay: 0.1,
      gradScale: 0.5,
      correction1: 0.3,
      correction2: 0.03,
    };
    const run = (on: Device): Promise<Map<string, HostArray>> =>
      execute(on, { op: "adamw_8bit", args });
    const parts = await run(device), other = await createWebgpuDevice(), whole = await run(other);
    other.close();
    for (const [name, value] of parts) assert.ok(sameBits(value, whole.get(name)!), name);
  },
);
