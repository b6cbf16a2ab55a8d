import assert from "node:assert/strict";
import { dropoutCounter, philox4x32, seedWords } from "../../core/philox.ts";
import { testOnEveryDevice } from "./devices_testing.ts";
import type { Device } from "../device.ts";
import type { HostArray } from "../tensor.ts";
import { dropoutThreshold } from "../ops/dropout/spec.ts";
import { assertWithin, normals, sameBits, stream, upload } from "../testing.ts";

const SEED = 77 * 2 ** 32 + 12_345;

interface Settings {
  p?: number;
  site?: number;
  seed?: number;
}

/** Runs dropout(x). @param keys [rows, 3] */
async function drop(
  device: Device,
  x: HostArray,
  keys: Uint32Array,
  { p = 0.25, site = 5, seed = SEED }: Settings = {},
): Promise<HostArray> {
  const rows = keys.length / 3;
  const tensors = {
    x: upload(device, x),
    keys: upload(device, keys),
    out: device.create("float", x.length, "out"),
  };
  const [seedLow, seedHigh] = seedWords(seed);
  device.run("dropout", { ...tensors, rows, d: x.length / rows, p, site, seedLow, seedHigh });
  const out = await device.read(tensors.out);
  for (const tensor of Object.values(tensors)) device.free(tensor);
  return out;
}

/** The keys of a branch's rows: row r is position r. */
function keysOf(rows: number, branch = 0): Uint32Array {
  return Uint32Array.from(
    Array.from({ length: rows }, (_, r) => dropoutCounter(1, 9, branch, r)).flat(),
  );
}

/** A mask with 1 for kept elements and 0 for dropped ones. */
async function mask(device: Device, rows: number, d: number, settings?: Settings, branch = 0) {
  const out = await drop(
    device,
    new Float32Array(rows * d).fill(1),
    keysOf(rows, branch),
    settings,
  );
  return Uint8Array.from(out, (x) => x === 0 ? 0 : 1);
}

testOnEveryDevice("every element of a mask follows from its counters", async (device) => {
  const rows = 5, d = 39, site = 1234, p = 0.4;
  const found = await mask(device, rows, d, { p, site }), keys = keysOf(rows);
  const words = new Uint32Array(4);
  for (let r = 0; r < rows; r++) {
    for (let j = 0; j < d; j++) {
      const [c1, c2, c3] = keys.subarray(3 * r, 3 * r + 3);
      philox4x32(words, site * 2 ** 18 + Math.floor(j / 4), c1!, c2!, c3!, ...seedWords(SEED));
      assert.equal(
        found[r * d + j],
        words[j % 4]! < Math.floor(p * 2 ** 32) ? 0 : 1,
        `row ${r}, column ${j}`,
      );
    }
  }
});

testOnEveryDevice("a row's mask does not depend on other rows", async (device) => {
  const rows = 60, d = 50, x = normals(stream("dropout rows"), rows * d), keys = keysOf(rows);
  const whole = await drop(device, x, keys);
  const order = stream("dropout order").shuffle(Array.from({ length: rows }, (_, r) => r));
  for (const part of [order, order.slice(0, 7), [41]]) {
    const take = (data: HostArray, width: number) =>
      part.flatMap((r) => [...data.subarray(r * width, (r + 1) * width)]);
    const found = await drop(
      device,
      Float32Array.from(take(x, d)),
      Uint32Array.from(take(keys, 3)),
    );
    assert.ok(sameBits(found, Float32Array.from(take(whole, d))));
  }
});

testOnEveryDevice("1 − p of the elements are kept, and the mean is unchanged", async (device) => {
  const rows = 200, d = 500, n = rows * d;
  for (const p of [0, 1e-3, 0.05, 0.5, 0.9]) {
    const kept = (await mask(device, rows, d, { p })).reduce((sum, x) => sum + x, 0);
    const sigma = Math.sqrt(n * p * (1 - p));
    assert.ok(Math.abs(kept - n * (1 - p)) <= 4 * sigma, `p ${p}: ${kept} of ${n}`);
    const ones = await drop(device, new Float32Array(n).fill(1), keysOf(rows), { p });
    const mean = Float64Array.from(ones).reduce((sum, x) => sum + x, 0) / n;
    assert.ok(Math.abs(mean - 1) <= 4 * sigma / n / (1 - p) + 1e-6, `p ${p}: mean ${mean}`);
  }
});

testOnEveryDevice(
  "masks of different seeds, sites, rows and columns are independent",
  async (device) => {
    const rows = 100, d = 400, n = rows * d, p = 0.5;
    const base = await mask(device, rows, d, { p });
    const others: [string, Uint8Array][] = [
      ["seed", await mask(device, rows, d, { p, seed: SEED + 1 })],
      ["high word of the seed", await mask(device, rows, d, { p, seed: SEED + 2 ** 32 })],
      ["site", await mask(device, rows, d, { p, site: 6 })],
      ["branch", await mask(device, rows, d, { p }, 1)],
      ["next row", Uint8Array.from(base, (_, i) => base[(i + d) % n]!)],
      ["next column", Uint8Array.from(base, (_, i) => base[(i + 1) % n]!)],
      ["next block", Uint8Array.from(base, (_, i) => base[(i + 4) % n]!)],
    ];
    for (const [what, other] of others) {
      const agree = base.reduce((sum, x, i) => sum + (x === other[i] ? 1 : 0), 0);
      assert.ok(Math.abs(agree - n / 2) < 4 * Math.sqrt(n) / 2, `${what}: ${agree} of ${n} agree`);
    }
  },
);

testOnEveryDevice(
  "dropped elements are 0 even if they were NaN or infinite; kept ones are not hidden",
  async (device) => {
    const rows = 4, d = 37, kept = await mask(device, rows, d);
    for (const value of [NaN, Infinity, -1]) {
      const out = await drop(device, new Float32Array(rows * d).fill(value), keysOf(rows));
      for (const [i, x] of out.entries()) {
        if (kept[i] === 0) assert.ok(Object.is(x, 0));
        else assertSame(x, value === -1 ? Math.fround(-1 / 0.75) : value);
      }
    }
  },
);

function assertSame(found: number, expected: number): void {
  assert.ok(Object.is(found, expected), `${found}, expected ${expected}`);
}

testOnEveryDevice("p = 0 changes no bit", async (device) => {
  const x = normals(stream("dropout of nothing"), 3 * 70);
  assert.ok(sameBits(await drop(device, x, keysOf(3), { p: 0 }), x));
});

testOnEveryDevice("the gradient is dropout with the same mask", async (device) => {
  const rows = 9, d = 45, random = stream("dropout transpose");
  const x = normals(random, rows * d), dout = normals(random, rows * d), keys = keysOf(rows);
  const out = await drop(device, x, keys), dx = await drop(device, dout, keys);
  const products = (a: HostArray, b: HostArray) => Float64Array.from(a, (v, i) => v * b[i]!);
  assertWithin(products(out, dout), products(x, dx), 1e-5, "elementwise");
  assert.ok(out.some((v) => v !== 0));
});

Deno.test("the threshold is a u32 for every p below 1", () => {
  assert.equal(dropoutThreshold(0), 0);
  assert.equal(dropoutThreshold(0.5), 2 ** 31);
  assert.equal(dropoutThreshold(1 - Number.EPSILON / 2), 2 ** 32 - 1);
});
