/** The matrix product on the CPU device against a triple loop in float64, for many shapes. */
import { strict as assert } from "node:assert";
import { createWasmDevice, type WasmDevice } from "../../devices/wasm/device.ts";

interface Shape {
  m: number;
  n: number;
  k: number;
  transA?: boolean;
  transB?: boolean;
  alpha?: number;
  accumulate?: boolean;
}

/** Numbers in (−1, 1) from a small generator; every seed gives different ones. */
function noise(length: number, seed: number): Float32Array {
  const values = new Float32Array(length);
  let state = (seed * 2654435761 + 12345) >>> 0;
  for (let i = 0; i < length; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    values[i] = (state >>> 8) / 2 ** 23 - 1;
  }
  return values;
}

async function product(device: WasmDevice, shape: Shape): Promise<Float32Array> {
  const { m, n, k } = shape;
  const a = device.create("float", m * k, "a");
  const b = device.create("float", k * n, "b");
  // The elements after the result show whether anything is stored there.
  const out = device.create("float", m * n + 16, "out");
  device.write(a, noise(m * k, 1));
  device.write(b, noise(k * n, 2));
  device.write(out, noise(m * n + 16, 3));
  device.run("matmul", { ...shape, a, b, out: out.view(0, m * n) });
  const result = await device.read(out) as Float32Array;
  for (const tensor of [a, b, out]) device.free(tensor);
  return result;
}

/** The expected product, and the maximum error of each element. */
function reference(shape: Shape): { expected: Float64Array; bound: Float64Array } {
  const { m, n, k, transA, transB, alpha = 1, accumulate } = shape;
  const a = noise(m * k, 1), b = noise(k * n, 2), before = noise(m * n + 16, 3);
  const expected = Float64Array.from(before);
  const bound = new Float64Array(m * n + 16);
  for (let i = 0; i < m; i++) {
    for (let j = 0; j < n; j++) {
      let sum = 0, size = 0;
      for (let x = 0; x < k; x++) {
        const term = a[transA ? x * m + i : i * k + x]! * b[transB ? j * k + x : x * n + j]!;
        sum += term;
        size += Math.abs(term);
      }
      expected[i * n + j] = alpha * sum + (accumulate ? before[i * n + j]! : 0);
      bound[i * n + j] = 4 * 2 ** -24 * (Math.abs(alpha) * size + 1) + 1e-7;
    }
  }
  return { expected, bound };
}

async function check(device: WasmDevice, shape: Shape): Promise<void> {
  const actual = await product(device, shape);
  const { expected, bound } = reference(shape);
  for (let i = 0; i < expected.length; i++) {
    const error = Math.abs(actual[i]! - expected[i]!);
    assert.ok(
      error <= bound[i]!,
      `${JSON.stringify(shape)}: element ${i} is ${actual[i]}, expected ${expected[i]}`,
    );
  }
}

const LAYOUTS = [{}, { transA: true }, { transB: true }, { transA: true, transB: true }];

Deno.test("matmul equals a float64 triple loop for every small shape and layout", async () => {
  const device = await createWasmDevice({ threads: 1 });
  const sizes = [1, 2, 3, 4, 5, 6, 7, 8, 13, 15, 16, 17, 31, 33];
  for (const m of sizes) {
    for (const n of sizes) {
      for (const k of [0, 1, 2, 3, 4, 5, 7, 8, 16, 37]) {
        for (const layout of LAYOUTS) {
          const accumulate = (m + n + k) % 2 === 1;
          await check(device, { m, n, k, ...layout, accumulate, alpha: k % 3 ? -0.5 : 1 });
        }
      }
    }
  }
  device.close();
});

Deno.test("matmul is right across its blocks and over several threads", async () => {
  const device = await createWasmDevice({ threads: 3 });
  await device.ready();
  for (
    const [m, n, k] of [
      [97, 101, 103],
      [200, 96, 390],
      [1, 777, 129],
      [5, 500, 1000],
      [300, 1, 64],
      [110, 260, 769],
      [385, 48, 2],
      [65, 70, 2111],
    ] as const
  ) {
    for (const layout of LAYOUTS) {
      await check(device, { m, n, k, ...layout });
      await check(device, { m, n, k, ...layout, alpha: 2.5, accumulate: true });
    }
  }
  device.close();
});

Deno.test("matmul gives the same bits with one, two and three threads", async () => {
  const shapes = [{ m: 256, n: 301, k: 400 }, { m: 9, n: 1200, k: 257 }, {
    m: 130,
    n: 50,
    k: 1700,
  }];
  const results: Float32Array[][] = [];
  for (const threads of [1, 2, 3]) {
    const device = await createWasmDevice({ threads });
    await device.ready();
    results.push([]);
    for (const shape of shapes) {
      for (const layout of LAYOUTS) {
        results.at(-1)!.push(await product(device, { ...shape, ...layout }));
      }
    }
    device.close();
  }
  assert.deepEqual(results[1], results[0]);
  assert.deepEqual(results[2], results[0]);
});

Deno.test("an adapter's product in the same call has the bits of a second call", async () => {
  const device = await createWasmDevice({ threads: 1 });
  const m = 37, n = 50, k = 64, r = 6;
  const make = (length: number, seed: number) => {
    const tensor = device.create("float", length, `operand ${seed}`);
    device.write(tensor, noise(length, seed));
    return tensor;
  };
  const a = make(m * k, 1), b = make(n * k, 2), xa = make(m * r, 3), loraB = make(n * r, 4);
  const one = make(m * n, 5), two = make(m * n, 6);
  const sizes = { m, n, k, transB: true };
  device.run("matmul", { ...sizes, a, b, out: one, xa, loraB, r, loraScale: 0.3 });
  device.run("matmul", { ...sizes, a, b, out: two });
  const adapter = { a: xa, b: loraB, k: r, alpha: 0.3, accumulate: true };
  device.run("matmul", { ...sizes, ...adapter, out: two });
  assert.deepEqual(await device.read(one), await device.read(two));
  device.close();
});

Deno.test("matmul with an empty side leaves its result alone, with empty k clears it", async () => {
  const device = await createWasmDevice({ threads: 1 });
  for (const layout of LAYOUTS) {
    await check(device, { m: 0, n: 5, k: 3, ...layout });
    await check(device, { m: 5, n: 0, k: 3, ...layout });
    await check(device, { m: 5, n: 20, k: 0, ...layout });
    await check(device, { m: 5, n: 20, k: 0, ...layout, accumulate: true });
  }
  device.close();
});
