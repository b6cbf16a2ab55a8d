/** Trained weights in bfloat16: widening and both ways of rounding, on every device. */
import assert from "node:assert/strict";
import { narrowBF16, widenBF16 } from "../../core/half_floats.ts";
import { philox4x32 } from "../../core/philox.ts";
import type { Device } from "../device.ts";
import { normals, sameBits, stream } from "../testing.ts";
import { DEVICES_WITH_KERNELS, testOnEveryDevice, webgpuInParts } from "./devices_testing.ts";
import { execute } from "./runner_testing.ts";

const DEVICES = [...DEVICES_WITH_KERNELS, ...webgpuInParts(256)];
const SIZES = [0, 2, 6, 16, 18, 1022, 1024, 1026, 70_002];
const KEY = { first: 4096, c1: 17, c2: 1, c3: 7 << 24, seedLow: 0xfedcba98, seedHigh: 3 };

const wordsOf = (halves: Uint16Array) => new Uint32Array(halves.buffer, 0, halves.length / 2);

/** Numbers of many magnitudes, some of them exact in bfloat16. */
function numbers(n: number): Float32Array<ArrayBuffer> {
  const random = stream(`bf16 ${n}`);
  const values = normals(random, n).map((x) => x * Math.exp(8 * random.normal()));
  values.set(widenBF16(narrowBF16(values.subarray(0, n >> 2))));
  return values as Float32Array<ArrayBuffer>;
}

async function round(device: Device, x: Float32Array, kahan: boolean) {
  const n = x.length, weight = new Uint32Array(n / 2), rest = new Uint32Array(n / 2);
  const after = await execute(device, {
    op: "round_bf16",
    args: { x, weight, n, ...KEY, ...(kahan ? { rest } : {}) },
  });
  return { weight: after.get("weight") as Uint32Array, rest: after.get("rest") as Uint32Array };
}

testOnEveryDevice("stochastic rounding takes its bits from the counters", async (device) => {
  const random = new Uint32Array(4), bits = (x: Float32Array) => new Uint32Array(x.buffer);
  for (const n of SIZES) {
    const x = numbers(n), expected = new Uint16Array(n);
    for (let i = 0; i < n; i++) {
      const { c1, c2, c3, seedLow, seedHigh, first } = KEY;
      philox4x32(random, (first + i) >>> 2, c1, c2, c3, seedLow, seedHigh);
      expected[i] = (bits(x)[i]! + (random[i % 4]! & 0xffff)) >>> 16;
    }
    const { weight } = await round(device, x, false);
    assert.ok(sameBits(weight, wordsOf(expected)), `${n} elements`);
  }
}, DEVICES);

testOnEveryDevice("Kahan's rounding keeps what the nearest leaves", async (device) => {
  for (const n of SIZES) {
    const x = numbers(n), nearest = narrowBF16(x);
    const left = Float32Array.from(widenBF16(nearest), (y, i) => x[i]! - y);
    const { weight, rest } = await round(device, x, true);
    assert.ok(sameBits(weight, wordsOf(nearest)), `${n} elements`);
    assert.ok(sameBits(rest, wordsOf(narrowBF16(left))), `rest of ${n} elements`);
  }
}, DEVICES);

testOnEveryDevice("widening gives the weight, and adds the rest", async (device) => {
  for (const n of SIZES) {
    const x = numbers(n), halves = narrowBF16(x), more = narrowBF16(x.map((y) => y / 300));
    const weight = wordsOf(halves), rest = wordsOf(more), out = new Float32Array(n);
    const wide = widenBF16(halves), added = widenBF16(more);
    const both = wide.map((y, i) => y + added[i]!);
    for (const [args, expected] of [[{}, wide], [{ rest }, both]] as const) {
      const found = await execute(device, { op: "widen_bf16", args: { weight, out, n, ...args } });
      assert.ok(sameBits(found.get("out")!, expected), `${n} elements`);
    }
  }
}, DEVICES);
