/**
 * Dropout: the reference's masks follow from their counters, and these give independent masks.
 * cases/dropout_testing.ts holds the other devices to the reference, element by element.
 */
import assert from "node:assert/strict";
import { dropoutCounter, philox4x32, seedWords } from "../../core/philox.ts";
import { createReferenceDevice } from "../devices/reference/device.ts";
import { dropoutThreshold } from "../ops/dropout/spec.ts";
import { testOnEveryDevice } from "./devices_testing.ts";
import { execute } from "./runner_testing.ts";

const SEED = 77 * 2 ** 32 + 12_345;

const reference = createReferenceDevice();

/** Dropout of rows that all have one value; row r is position r of a branch. */
async function drop(rows: number, d: number, settings: {
  p?: number;
  site?: number;
  seed?: number;
  branch?: number;
  value?: number;
}, device = reference as Parameters<typeof execute>[0]) {
  const { p = 0.25, site = 5, seed = SEED, branch = 0, value = 1 } = settings;
  const [seedLow, seedHigh] = seedWords(seed), x = new Float32Array(rows * d).fill(value);
  const counters = Array.from({ length: rows }, (_, r) => dropoutCounter(1, 9, branch, r));
  const keys = Uint32Array.from(counters.flat()), out = new Float32Array(x.length);
  const args = { x, keys, out, rows, d, p, site, seedLow, seedHigh };
  const found = (await execute(device, { op: "dropout", args })).get("out")!;
  return { keys, out: Float32Array.from(found) };
}

Deno.test("every element of a mask follows from its counters", async () => {
  const rows = 5, d = 39, site = 1234, p = 0.4;
  const { out, keys } = await drop(rows, d, { p, site }), words = new Uint32Array(4);
  for (let r = 0; r < rows; r++) {
    for (let j = 0; j < d; j++) {
      const [c1, c2, c3] = keys.subarray(3 * r, 3 * r + 3);
      philox4x32(words, site * 2 ** 18 + Math.floor(j / 4), c1!, c2!, c3!, ...seedWords(SEED));
      const expected = words[j % 4]! < Math.floor(p * 2 ** 32) ? 0 : Math.fround(1 / (1 - p));
      assert.equal(out[r * d + j], expected, `row ${r}, column ${j}`);
    }
  }
});

Deno.test("1 − p of the elements are kept, and the mean is unchanged", async () => {
  const rows = 200, d = 500, n = rows * d;
  for (const p of [0, 1e-3, 0.05, 0.5, 0.9]) {
    const { out } = await drop(rows, d, { p }), sigma = Math.sqrt(n * p * (1 - p));
    const mean = Float64Array.from(out).reduce((sum, x) => sum + x, 0) / n;
    assert.ok(Math.abs(mean - 1) <= 4 * sigma / n / (1 - p) + 1e-6, `p ${p}: mean ${mean}`);
  }
});

Deno.test("masks of different seeds, sites, rows and columns are independent", async () => {
  const rows = 100, d = 400, n = rows * d, p = 0.5, { out: base } = await drop(rows, d, { p });
  const shifted = (by: number) => base.map((_, i) => base[(i + by) % n]!);
  const others = {
    seed: (await drop(rows, d, { p, seed: SEED + 1 })).out,
    "high word of the seed": (await drop(rows, d, { p, seed: SEED + 2 ** 32 })).out,
    site: (await drop(rows, d, { p, site: 6 })).out,
    branch: (await drop(rows, d, { p, branch: 1 })).out,
    "next row": shifted(d),
    "next column": shifted(1),
    "next block": shifted(4),
  };
  for (const [what, other] of Object.entries(others)) {
    const agree = base.reduce((sum, x, i) => sum + (x === other[i] ? 1 : 0), 0);
    assert.ok(Math.abs(agree - n / 2) < 4 * Math.sqrt(n) / 2, `${what}: ${agree} of ${n} agree`);
  }
});

testOnEveryDevice(
  "dropped elements are 0 even if they were NaN or infinite; kept ones are not hidden",
  async (device) => {
    const rows = 4, d = 37, { out: ones } = await drop(rows, d, {});
    for (const value of [NaN, Infinity, -1]) {
      const { out } = await drop(rows, d, { value }, device);
      const kept = value === -1 ? Math.fround(-1 / 0.75) : value;
      const expected = Float32Array.from(ones, (x) => x === 0 ? 0 : kept);
      assert.deepEqual(out, expected);
    }
  },
);

Deno.test("the threshold is a u32 for every p below 1", () => {
  assert.equal(dropoutThreshold(0), 0);
  assert.equal(dropoutThreshold(0.5), 2 ** 31);
  assert.equal(dropoutThreshold(1 - Number.EPSILON / 2), 2 ** 32 - 1);
});
