import assert from "node:assert/strict";
import type { Tensor } from "../../kernels/tensor.ts";
import { assertWithin } from "../../kernels/testing.ts";
import { ropeFrequencies } from "../architectures/rope_frequencies.ts";
import { RopeTables } from "./rope_table.ts";
import { test, tinyConfig } from "../testing.ts";

const rope = { headDim: 8, ropeTheta: 10_000, ropeScaling: null };

Deno.test("frequencies are powers of the base, divided by the scaling", () => {
  assertWithin(ropeFrequencies(rope), [1, 0.1, 0.01, 0.001], 1e-15, "default");
  const linear = ropeFrequencies({ ...rope, ropeScaling: { type: "linear", factor: 4 } });
  assertWithin(linear, [0.25, 0.025, 0.0025, 0.00025], 1e-15, "linear");
});

Deno.test("Llama 3 keeps short wavelengths, divides long ones and blends between", () => {
  const scaling = {
    type: "llama3",
    factor: 8,
    lowFreqFactor: 1,
    highFreqFactor: 4,
    originalMaxPositions: 128,
  } as const;
  const found = ropeFrequencies({ ...rope, ropeScaling: scaling });
  // Wavelengths 6.3, 62.8, 628, 6283; the limits are 128/4 = 32 and 128/1.
  const t = (128 * 0.1 / (2 * Math.PI) - 1) / 3;
  assertWithin(found, [1, (1 - t) * 0.1 / 8 + t * 0.1, 0.01 / 8, 0.001 / 8], 1e-15, "llama3");
});

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
