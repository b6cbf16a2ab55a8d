/**
 * AdamW with 8-bit moments: the maps, the rounding and steps of bitsandbytes, and every device
 * against the reference. A code may be one step off where a value is in the middle between two.
 */
import assert from "node:assert/strict";
import {
  SIGNED_MAP,
  signedCode,
  UNSIGNED_MAP,
  unsignedCode,
} from "../ops/adamw_8bit/dynamic_map.ts";
import { dynamicTables } from "../ops/adamw_8bit/dynamic_map.ts";
import { BLOCK } from "../ops/adamw_8bit/spec.ts";
import { createReferenceDevice } from "../devices/reference/device.ts";
import type { Device } from "../device.ts";
import type { HostArray } from "../tensor.ts";
import { assertWithin, normals, sameBits, stream } from "../testing.ts";
import {
  DEVICES,
  DEVICES_WITH_KERNELS,
  testOnEveryDevice,
  webgpuInParts,
} from "./devices_testing.ts";
import { execute } from "./runner_testing.ts";

/** Four steps of bitsandbytes on a tensor of n elements, arrays in base64. */
interface Golden {
  n: number;
  lr: number;
  beta1: number;
  beta2: number;
  eps: number;
  weight_decay: number;
  signed_map: string;
  unsigned_map: string;
  rounded: { x: string; signed: string; unsigned: string };
  param: string;
  steps: Record<"grad" | "param" | "m" | "v" | "m_max" | "v_max", string>[];
}

const golden: Golden = JSON.parse(
  await Deno.readTextFile(new URL("../../tests/golden/adamw-8bit.json", import.meta.url)),
);
const bytesOf = (text: string) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
const floatsOf = (text: string) => new Float32Array(bytesOf(text).buffer);

/** Moments of n elements: codes in words, and the maxima of the blocks. */
interface Moments {
  m: Uint32Array;
  v: Uint32Array;
  mMax: HostArray;
  vMax: HostArray;
}

function noMoments(n: number): Moments {
  const words = Math.ceil(n / 4), blocks = Math.ceil(n / BLOCK);
  return {
    m: new Uint32Array(words),
    v: new Uint32Array(words),
    mMax: new Float32Array(blocks),
    vMax: new Float32Array(blocks),
  };
}

/** One step. @returns the tensors after it */
async function step(
  device: Device,
  t: number,
  param: HostArray,
  grad: Float32Array,
  moments: Moments,
  { lr, beta1, beta2, eps, weight_decay: weightDecay } = golden as Omit<Golden, "n">,
  gradScale = 1,
): Promise<Moments & { param: HostArray }> {
  const after = await execute(device, {
    op: "adamw_8bit",
    args: {
      param,
      grad,
      ...moments,
      tables: dynamicTables(),
      n: grad.length,
      lr,
      beta1,
      beta2,
      eps,
      weightDecay,
      gradScale,
      correction1: 1 - beta1 ** t,
      correction2: 1 - beta2 ** t,
    },
  });
  const get = (name: string) => after.get(name)!;
  const codes = (name: string) => get(name) as Uint32Array;
  return {
    param: get("param"),
    m: codes("m"),
    v: codes("v"),
    mMax: get("mMax"),
    vMax: get("vMax"),
  };
}

/** Codes that differ: never by more than one, and at most one in a thousand (at least one). */
function assertCodes(found: Uint32Array, expected: Uint8Array, what: string): void {
  const bytes = new Uint8Array(found.buffer, found.byteOffset, expected.length);
  let others = 0;
  for (const [i, code] of bytes.entries()) {
    if (code === expected[i]) continue;
    others++;
    assert.ok(Math.abs(code - expected[i]!) === 1, `${what}: ${i} is ${code}, not ${expected[i]}`);
  }
  assert.ok(others <= Math.max(1, expected.length / 1000), `${what}: ${others} codes differ`);
}

Deno.test("the maps have the bits of bitsandbytes' dynamic maps", () => {
  assert.ok(sameBits(SIGNED_MAP.values, floatsOf(golden.signed_map)));
  assert.ok(sameBits(UNSIGNED_MAP.values, floatsOf(golden.unsigned_map)));
});

Deno.test("values get the codes that bitsandbytes gives them", () => {
  const { x, signed, unsigned } = golden.rounded;
  assert.deepEqual(Uint8Array.from(floatsOf(x), signedCode), bytesOf(signed));
  const sizes = floatsOf(x).map(Math.abs);
  assert.deepEqual(Uint8Array.from(sizes, unsignedCode), bytesOf(unsigned));
});

testOnEveryDevice("four steps equal those of bitsandbytes", async (device) => {
  let param: HostArray = floatsOf(golden.param), moments = noMoments(golden.n);
  for (const [i, expected] of golden.steps.entries()) {
    const after = await step(device, i + 1, param, floatsOf(expected.grad), moments);
    const what = `step ${i + 1} on ${device.name}`;
    const want = floatsOf(expected.param);
    // A code that is one off changes a moment by at most 15%.
    assertWithin(after.param, want, i === 0 ? 1e-7 : 2e-4, `${what}: param`);
    assertCodes(after.m, fromZeros(bytesOf(expected.m), floatsOf(expected.m_max)), `${what}: m`);
    assertCodes(after.v, bytesOf(expected.v), `${what}: v`);
    const close = (a: HostArray, b: Float32Array, name: string) =>
      assertWithin(a, b, b.map((x) => 1e-5 * x), `${what}: ${name}`);
    close(after.mMax, floatsOf(expected.m_max), "maxima of m");
    close(after.vMax, floatsOf(expected.v_max), "maxima of v");
    param = want;
    moments = {
      m: wordsOf(bytesOf(expected.m)),
      v: wordsOf(bytesOf(expected.v)),
      mMax: floatsOf(expected.m_max),
      vMax: floatsOf(expected.v_max),
    };
  }
});

/** Codes with those of 0 in blocks of zeros, whose codes say nothing. */
function fromZeros(codes: Uint8Array, maxima: Float32Array): Uint8Array {
  return codes.map((code, i) => maxima[Math.floor(i / BLOCK)] === 0 ? signedCode(0) : code);
}

function wordsOf(bytes: Uint8Array): Uint32Array {
  const words = new Uint32Array(Math.ceil(bytes.length / 4));
  new Uint8Array(words.buffer).set(bytes);
  return words;
}

const SIZES = [0, 1, 3, 4, 255, 256, 257, 1009, 4096, 70_001];
const SETTINGS = { ...golden, lr: 3e-3, beta1: 0.9, beta2: 0.999, weight_decay: 0.1 };

/** Random moments and gradients of n elements. */
function inputs(n: number) {
  const random = stream(`adamw_8bit ${n}`), moments = noMoments(n);
  const codes = () => random.below(2 ** 32);
  moments.m = moments.m.map(codes);
  moments.v = moments.v.map(codes);
  moments.mMax = normals(random, moments.mMax.length, 0.05).map(Math.abs);
  moments.vMax = normals(random, moments.vMax.length, 0.01).map((x) => x * x);
  return { param: normals(random, n), grad: normals(random, n, 0.1), moments };
}

testOnEveryDevice("a step equals the reference in float64", async (device) => {
  using reference = createReferenceDevice({ float: "f64" });
  for (const n of SIZES) {
    const { param, grad, moments } = inputs(n), what = `${n} elements on ${device.name}`;
    const run = (on: Device) => step(on, 3, param, grad, moments, SETTINGS, 0.37);
    const want = await run(reference), found = await run(device);
    assertWithin(found.param, want.param, 2e-6, `${what}: param`);
    for (const name of ["mMax", "vMax"] as const) {
      const bound = Float64Array.from(want[name], (x) => 1e-6 * x);
      assertWithin(found[name], want[name], bound, `${what}: ${name}`);
    }
    const bytes = (words: Uint32Array) => new Uint8Array(words.buffer, words.byteOffset, n);
    assertCodes(found.m, bytes(want.m), `${what}: m`);
    assertCodes(found.v, bytes(want.v), `${what}: v`);
  }
}, [...DEVICES_WITH_KERNELS, ...webgpuInParts(64 * BLOCK)]);

Deno.test("a step has the same bits for every number of threads", async () => {
  const devices = DEVICES.filter(({ name }) => name.startsWith("wasm"));
  const results = [];
  for (const { create } of devices) {
    const device = await create();
    const { param, grad, moments } = inputs(70_001);
    results.push(await step(device, 3, param, grad, moments, SETTINGS, 0.37));
    device.close();
  }
  for (const other of results.slice(1)) {
    for (const [name, value] of Object.entries(other)) {
      assert.ok(sameBits(value, results[0]![name as keyof Moments]), name);
    }
  }
});
