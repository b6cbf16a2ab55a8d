/**
 * Tiles whose rounded operands take two bytes in workgroup memory: the bits of the same tile with
 * four bytes, on every adapter that keeps halves.
 */
import assert from "node:assert/strict";
import { f16Value } from "../../core/half_floats.ts";
import { areKept, keepsHalves } from "../devices/webgpu/halves.ts";
import { testOnWebgpu } from "../devices/webgpu/testing.ts";
import { productChoice } from "../ops/matmul/webgpu/choose.ts";
import type { MatmulArgs } from "../ops/matmul/spec.ts";
import { sameBits, stream } from "../testing.ts";
import { productCase } from "./cases/matmul.ts";
import { checkCase } from "./runner.ts";

const PRODUCTS = {
  bfloat16: [{ m: 64, n: 72, k: 40, r: 5, transB: true, weightType: "f16" }],
  float16: [
    { m: 70, n: 66, k: 90, r: 0, transB: true },
    { m: 65, n: 64, k: 64, r: 0, transB: true, weightType: "q8_0" },
  ],
} as const;

testOnWebgpu("operands of two bytes in workgroup memory change no bit", {}, async (device) => {
  assert.equal(device.exactHalves, false, "only the tuner needs to know");
  device.exactHalves = await keepsHalves(device);
  const random = stream("halves"), tile = "tile 32x32 4x4 k64 s4", plain = "tile 64x64 4x4 k32 s1";
  for (const dtype of ["bfloat16", "float16"] as const) {
    device.computeDtype = dtype;
    for (const product of PRODUCTS[dtype]) {
      const test = productCase(random, product), args = test.args as unknown as MatmulArgs;
      // Numbers that halves can hold only as subnormals, or not at all.
      const a = args.a as unknown as Float32Array;
      if (dtype === "float16") [3e-6, -6e-8, 1e-9].forEach((x, i) => a[i] = x);
      const names = productChoice.candidates(args, device);
      assert.ok(names.includes(plain) && names.includes(tile));
      const isOffered = dtype === "bfloat16" || device.exactHalves;
      assert.equal(names.includes(`${plain} half`), isOffered);
      assert.ok(!names.includes(`${tile} half`), "sums of slices need four bytes");
      if (!isOffered) continue;
      const results = [];
      for (const name of [plain, `${plain} half`]) {
        device.kernelChoices = { [productChoice.classOf(args, device)!]: name };
        results.push((await checkCase(device, test)).get("out")!);
      }
      assert.ok(sameBits(results[0]!, results[1]!), `${dtype} ${test.name}`);
    }
  }
  device.computeDtype = "float32";
  const args = { m: 64, n: 64, k: 64, transB: true } as MatmulArgs;
  assert.ok(!productChoice.candidates(args, device).some((name) => name.endsWith("half")));
});

Deno.test("a device that loses small halves or infinity is not given halves", () => {
  const floats = Float32Array.from({ length: 2 ** 16 }, (_, half) => f16Value(half));
  const halves = Uint16Array.from({ length: 2 ** 16 }, (_, half) => half);
  assert.ok(areKept(floats, halves));
  const other = (half: number, value: number) => floats.with(half, value);
  assert.ok(!areKept(other(3, 0), halves), "a subnormal became zero");
  assert.ok(!areKept(floats, halves.with(3, 0)));
  assert.ok(!areKept(other(0x7c00, 65504), halves), "infinity became a number");
  assert.ok(!areKept(other(0x8000, 0), halves), "the sign of zero");
  assert.ok(areKept(floats, halves.with(0x7e01, 0x7e00)), "NaN may be another NaN");
});
