/** Products with activations in bytes on the CPU device, beyond the conformance suite. */
import assert from "node:assert/strict";
import { randomStored } from "../../../weights/random_stored.ts";
import type { HostArray } from "../../../tensor.ts";
import { productCase } from "../../../conformance/cases/matmul_testing.ts";
import { checkCase, execute } from "../../../conformance/runner_testing.ts";
import { createReferenceDevice } from "../../../devices/reference/device.ts";
import { normals, sameBits, stream, upload } from "../../../testing.ts";
import { createWasmDevice, type WasmDevice } from "../../../devices/wasm/device.ts";
import { testOnWebgpu } from "../../../devices/webgpu/testing.ts";
import { roundRows } from "../int8_rows.ts";
import { INT8_ACTIVATIONS, type MatmulArgs, type WeightType } from "../spec.ts";

Deno.test("the largest magnitude of a block is 127 steps, and ties are rounded to even", () => {
  const block = new Float32Array(64);
  block.set([127, -0.5, 0.5, 1.5, -1.5, 2.5, 126.49, -127, 0.49]);
  block.set([-1270, 5, 15, -15, 14.9], 32);
  const rounded = roundRows(block, 1, 64);
  assert.deepEqual([...rounded.subarray(0, 9)], [127, 0, 0, 2, -2, 2, 126, -127, 0]);
  assert.deepEqual([...rounded.subarray(32, 37)], [-1270, 0, 20, -20, 10]);
  assert.deepEqual(roundRows(new Float32Array(32), 1, 32), new Float64Array(32));
});

const n = 40, k = 768;

async function product(
  device: WasmDevice,
  weightType: WeightType,
  a: Float32Array,
  b: Uint32Array,
): Promise<HostArray> {
  const m = a.length / k, out = new Float32Array(m * n);
  const args = { a, b, out, m, n, k, transB: true, weightType, activations: "int8" } as const;
  return (await execute(device, { op: "matmul", args })).get("out")!;
}

Deno.test("the bits of a row depend neither on other rows nor on the threads", async () => {
  using device = await createWasmDevice({ threads: 1 });
  using two = await createWasmDevice({ threads: 2 });
  await two.ready();
  for (const type of INT8_ACTIVATIONS) {
    const random = stream(`company ${type}`);
    const weight = randomStored(random, type, n, k), rows = normals(random, 700 * k);
    const all = await product(device, type, rows, weight);
    assert.ok(sameBits(await product(two, type, rows, weight), all), `${type}: two threads`);
    for (const [first, count] of [[0, 1], [7, 2], [5, 16], [390, 7], [298, 5], [8, 600]] as const) {
      const part = rows.subarray(first * k, (first + count) * k);
      const found = await product(device, type, part, weight);
      const expected = all.subarray(first * n, (first + count) * n);
      assert.ok(sameBits(found, expected), `${type}: rows ${first} … ${first + count}`);
    }
  }
});

Deno.test("NaN and Infinity change their row and no other", async () => {
  using device = await createWasmDevice({ threads: 1 });
  const weight = randomStored(stream("none"), "q4_1", n, k);
  for (const bad of [NaN, Infinity]) {
    const rows = normals(stream("rows"), 3 * k);
    rows[k + 5] = bad;
    const found = await product(device, "q4_1", rows, weight);
    for (let i = 0; i < 3 * n; i++) {
      assert.equal(Number.isFinite(found[i]!), Math.floor(i / n) !== 1, `element ${i}, ${bad}`);
    }
  }
});

Deno.test("a block of numbers near zero becomes zeros", async () => {
  using device = await createWasmDevice({ threads: 1 });
  const weight = randomStored(stream("none"), "q4_1", n, k), rows = normals(stream("rows"), 3 * k);
  for (const [row, size] of [1e-37, 1e-40, 0].entries()) {
    for (let i = 0; i < 32; i++) rows[row * k + i] = (i % 2 ? 1 : -1) * size;
  }
  const rounded = Float32Array.from(roundRows(rows, 3, k));
  for (const row of [0, 1, 2]) {
    assert.ok(rounded.subarray(row * k, row * k + 32).every((x) => Math.abs(x) === 0));
    assert.ok(rounded.subarray(row * k + 32, (row + 1) * k).some((x) => x !== 0));
  }
  const without = rows.slice();
  for (const row of [0, 1, 2]) without.fill(0, row * k, row * k + 32);
  const [a, b] = [
    await product(device, "q4_1", rows, weight),
    await product(device, "q4_1", without, weight),
  ];
  assert.deepEqual(a, b);
});

Deno.test("int8 activations are refused for other types of weights", () => {
  using device = createReferenceDevice();
  const a = device.create("float", 64, "a"), out = device.create("float", 64, "out");
  const q4 = upload(device, randomStored(stream("q4"), "q4_0", 1, 64));
  const q8 = upload(device, randomStored(stream("q8"), "q8_0", 1, 64));
  const run = (args: Partial<MatmulArgs>) =>
    device.run("matmul", {
      a,
      b: q4,
      out,
      m: 1,
      n: 1,
      k: 64,
      transB: true,
      activations: "int8",
      ...args,
    });
  run({ weightType: "q4_0" });
  assert.throws(
    () => run({ weightType: "q8_0", b: q8 }),
    /weightType.*q8_0.*one of q4_0, q4_1, q4_k/,
  );
  assert.throws(() => run({ b: a }), /weightType.*absent/);
});

testOnWebgpu(
  "rows beyond one binding are rounded in parts",
  { bindingElements: 4096 },
  async (device) => {
    const shape = { m: 40, n: 32, k: 256, r: 0, transB: true, weightType: "q4_0" } as const;
    await checkCase(device, productCase(stream("parts"), { ...shape, activations: "int8" }));
  },
);
