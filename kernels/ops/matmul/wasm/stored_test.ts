/** Products with stored weights on the CPU device, beyond the conformance suite. */
import assert from "node:assert/strict";
import { randomStored } from "../../../weights/random_stored.ts";
import { normals, sameBits, stream, upload } from "../../../testing.ts";
import { createWasmDevice, type WasmDevice } from "../../../devices/wasm/device.ts";
import { blockOf, WEIGHT_TYPES, type WeightType } from "../../../weights/types.ts";

/** A shape whose sums have several blocks, and whose last panel is not full. */
function shape(type: WeightType) {
  return { n: 40, k: Math.ceil(704 / blockOf(type)) * blockOf(type) };
}

/** A length of rows that is more than is widened at once; whole blocks of every type. */
const LONG = 2304;

async function product(
  device: WasmDevice,
  type: WeightType,
  rows: Float32Array,
  weight: Uint32Array,
  { n, k } = shape(type),
  accumulate = false,
): Promise<Float32Array> {
  const m = rows.length / k;
  const a = upload(device, rows), b = upload(device, weight);
  const out = upload(device, new Float32Array(m * n).fill(0.7));
  device.run("matmul", { a, b, out, m, n, k, transB: true, weightType: type, accumulate });
  const found = await device.read(out) as Float32Array;
  for (const tensor of [a, b, out]) device.free(tensor);
  return found;
}

Deno.test("the bits of a row are the same for three rows and more; of a steady device, for any", async () => {
  const parts = [[0, 3], [5, 16], [390, 7], [100, 97], [8, 300], [9, 1], [20, 2]] as const;
  const device = await createWasmDevice({ threads: 1 });
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
  device.close();
});

Deno.test("one row and two give the same bits", async () => {
  const device = await createWasmDevice({ threads: 1 });
  for (const type of WEIGHT_TYPES) {
    const { n, k } = shape(type), random = stream(`two ${type}`);
    const weight = randomStored(random, type, n, k), rows = normals(random, 2 * k);
    const both = await product(device, type, rows, weight);
    for (const row of [0, 1]) {
      const alone = await product(device, type, rows.subarray(row * k, (row + 1) * k), weight);
      assert.ok(sameBits(alone, both.subarray(row * n, (row + 1) * n)), `${type}: row ${row}`);
    }
  }
  device.close();
});

Deno.test("a product that adds an adapter's has the bits of two products", async () => {
  const random = stream("adapters");
  for (const native of [true, false]) {
    const device = await createWasmDevice({ threads: 2, native });
    for (const computeDtype of ["float32", "bfloat16"] as const) {
      device.computeDtype = computeDtype;
      for (const m of [5, 16, 100, 300]) {
        for (const [n, r] of [[192, 16], [70, 8], [33, 40]] as const) {
          const k = 256, made = { m, n, k, transB: true, weightType: "q4_1" as const };
          const a = upload(device, normals(random, m * k));
          const b = upload(device, randomStored(random, "q4_1", n, k));
          const xa = upload(device, normals(random, m * r));
          const loraB = upload(device, normals(random, n * r));
          const together = upload(device, new Float32Array(m * n));
          const apart = upload(device, new Float32Array(m * n));
          device.run("matmul", { ...made, a, b, out: together, xa, loraB, r, loraScale: 1.7 });
          device.run("matmul", { ...made, a, b, out: apart });
          const alone = { m, n, k: r, transB: true, alpha: 1.7, accumulate: true };
          device.run("matmul", { ...alone, a: xa, b: loraB, out: apart });
          const [found, expected] = [await device.read(together), await device.read(apart)];
          const which = `${device.tiles}, ${computeDtype}, ${m}×${n}×${k}, r ${r}`;
          assert.ok(sameBits(found as Float32Array, expected as Float32Array), which);
          for (const tensor of [a, b, xa, loraB, together, apart]) device.free(tensor);
        }
      }
    }
    device.close();
  }
});
