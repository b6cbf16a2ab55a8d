/** Products with stored weights on the CPU device, beyond the conformance suite. */
import assert from "node:assert/strict";
import { randomStored } from "../../../weights/random_stored.ts";
import { type Case, execute } from "../../../conformance/runner_testing.ts";
import type { HostArray } from "../../../tensor.ts";
import { normals, sameBits, stream } from "../../../testing.ts";
import { createWasmDevice, type WasmDevice } from "../../../devices/wasm/device.ts";
import { blockOf, WEIGHT_TYPES, type WeightType } from "../../../weights/types.ts";

/** A shape whose sums have several blocks, and whose last panel is not full. */
function shape(type: WeightType) {
  return { n: 40, k: Math.ceil(704 / blockOf(type)) * blockOf(type) };
}

const ADAPTED = [
  ["float32", undefined],
  ["float32", "q4_1"],
  ["bfloat16", "q4_1"],
] as const;

/** A length of rows that is more than is widened at once; whole blocks of every type. */
const LONG = 2304;

async function product(
  device: WasmDevice,
  weightType: WeightType,
  a: Float32Array,
  b: Uint32Array,
  { n, k } = shape(weightType),
  accumulate = false,
): Promise<HostArray> {
  const m = a.length / k, out = new Float32Array(m * n).fill(0.7);
  const args = { a, b, out, m, n, k, transB: true, weightType, accumulate };
  return (await execute(device, { op: "matmul", args })).get("out")!;
}

Deno.test("the bits of a row are the same for three rows and more; of a steady device, for any", async () => {
  const parts = [[0, 3], [5, 16], [390, 7], [100, 97], [8, 300], [9, 1], [20, 2]] as const;
  using device = await createWasmDevice({ threads: 1 });
  for (const type of WEIGHT_TYPES) {
    for (const size of [shape(type), { n: 40, k: LONG }]) {
      const { n, k } = size, random = stream(`company ${type}`);
      const weight = randomStored(random, type, n, k), rows = normals(random, 400 * k);
      for (const add of [false, true]) {
        device.steady = false;
        const all = await product(device, type, rows, weight, size, add);
        for (const [first, count] of parts) {
          device.steady = count < 3;
          const part = rows.subarray(first * k, (first + count) * k);
          const found = await product(device, type, part, weight, size, add);
          const expected = all.subarray(first * n, (first + count) * n);
          const which = `${type}, ${k} long, ${add ? "added" : "set"}`;
          assert.ok(sameBits(found, expected), `${which}: rows ${first} … ${first + count}`);
        }
      }
    }
  }
});

Deno.test("one row and two give the same bits", async () => {
  using device = await createWasmDevice({ threads: 1 });
  for (const type of WEIGHT_TYPES) {
    const { n, k } = shape(type), random = stream(`two ${type}`);
    const weight = randomStored(random, type, n, k), rows = normals(random, 2 * k);
    const both = await product(device, type, rows, weight);
    for (const row of [0, 1]) {
      const alone = await product(device, type, rows.subarray(row * k, (row + 1) * k), weight);
      assert.ok(sameBits(alone, both.subarray(row * n, (row + 1) * n)), `${type}: row ${row}`);
    }
  }
});

Deno.test("a product that adds an adapter's has the bits of two products", async () => {
  const random = stream("adapters");
  for (const native of [true, false]) {
    const device = await createWasmDevice({ threads: 2, native });
    for (const [dtype, weightType] of ADAPTED) {
      device.computeDtype = dtype;
      for (const m of [5, 16, 37, 100, 300]) {
        for (const [n, r] of [[192, 16], [70, 8], [33, 40], [50, 6]] as const) {
          const k = 256, make = (length: number) => normals(random, length);
          const a = make(m * k), xa = make(m * r), loraB = make(n * r), out = make(m * n);
          const b = weightType === undefined ? make(n * k) : randomStored(random, weightType, n, k);
          const stored = weightType === undefined ? {} : { weightType };
          const product = async (args: Case<"matmul">["args"]) =>
            (await execute(device, { op: "matmul", args })).get("out")!;
          const shape = { a, b, out, m, n, k, transB: true, ...stored };
          const together = await product({ ...shape, xa, loraB, r, loraScale: 1.7 });
          const alone = { m, n, k: r, transB: true, alpha: 1.7, accumulate: true };
          const after = await product(shape) as Float32Array;
          const apart = await product({ ...alone, a: xa, b: loraB, out: after });
          const which = `${device.tiles}, ${dtype}, ${weightType}, ${m}×${n}×${k}, r ${r}`;
          assert.ok(sameBits(together, apart), which);
        }
      }
    }
    device.close();
  }
});
