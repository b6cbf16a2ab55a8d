import assert from "node:assert/strict";
import type { Tensor } from "../../kernels/tensor.ts";
import { ropeFrequencies } from "../architectures/rope_frequencies.ts";
import { RopeTables } from "./rope_table.ts";
import { test, tinyConfig } from "../testing.ts";

test.onReference("tables have cos and sin of position times frequency and grow as needed", async (device) => {
  const config = { ...tinyConfig(true), maxPositions: 5000 };
  const table = new RopeTables(device, config);
  const upTo = (position: number) => table.tensors(position) as [Tensor, Tensor];
  const frequencies = ropeFrequencies(config);
  for (const last of [3, 255, 256, 4999]) {
    const [cos, sin] = upTo(last);
    const at = last * 2 + 1, angle = last * frequencies[1]!;
    assert.equal((await device.read(cos, at, 1))[0], Math.cos(angle));
    assert.equal((await device.read(sin, at, 1))[0], Math.sin(angle));
  }
  const [cos] = upTo(4999);
  assert.equal(cos.length, 5000 * 2, "no further than the model's positions");
  assert.equal(upTo(1)[0], cos, "reused");
  table.dispose();
  assert.equal(device.allocatedBytes, 0);
});
