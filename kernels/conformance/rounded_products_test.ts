/**
 * Products in bfloat16 and float16 (kernels/ops/matmul/bf16.ts, f16.ts): every device against the
 * float64 reference, which rounds the same operands, and the units of a CPU for bfloat16 against
 * the WASM kernels, bit for bit.
 */
import assert from "node:assert/strict";
import { createWasmDevice } from "../devices/wasm/device.ts";
import { MIN_MAGNITUDE, roundBf16 } from "../ops/matmul/bf16.ts";
import { roundF16 } from "../ops/matmul/f16.ts";
import { blockOf, WEIGHT_TYPES } from "../weights/types.ts";
import { sameBits, stream } from "../testing.ts";
import { headBackwardCases, headCases } from "./cases/head_testing.ts";
import { matmulCases, productCase } from "./cases/matmul_testing.ts";
import { DEVICES_WITH_KERNELS, testCases, testOnEveryDevice } from "./devices_testing.ts";
import { type Case, execute, ofLargest } from "./runner_testing.ts";

/**
 * The logits' derivatives are rounded between the products of the backward. One near the middle of
 * two numbers may be rounded up on one device and down on another one: this share of its part.
 */
const BACKWARD = { bfloat16: ofLargest(2 ** -8), float16: ofLargest(2 ** -11) };

const TYPES = ["bfloat16", "float16"] as const;

/** Weights in storage types, in both directions. */
function storedProducts(): Case[] {
  return WEIGHT_TYPES.flatMap((weightType) => {
    const random = stream(`bfloat16 ${weightType}`), block = blockOf(weightType);
    const long = 2 * Math.max(block, 64);
    return [
      productCase(random, { m: 1, n: 40, k: long, r: 0, transB: true, weightType }),
      productCase(random, { m: 37, n: 50, k: long, r: 5, transB: true, weightType }),
      productCase(random, { m: 19, n: Math.max(block, 32), k: 45, r: 0, weightType }),
    ];
  });
}

/** Products of so many rows that a CPU packs the second operand first. */
function manyRows(): Case[] {
  const random = stream("many rows");
  return [
    productCase(random, { m: 1024, n: 19, k: 40, r: 0, transB: true }),
    productCase(random, { m: 1030, n: 33, k: 20, r: 5 }),
    productCase(random, { m: 1041, n: 20, k: 64, r: 3, transB: true, weightType: "q4_1" }),
    productCase(random, { m: 1025, n: 32, k: 17, r: 0, weightType: "q8_0" }),
  ];
}

/** The head's passes between its products are those in float32: few of its cases. */
let heads: Case[] | undefined;
const fewHeads = async () =>
  [...headCases(), ...await headBackwardCases()]
    .filter(({ args }) => !("mean" in args)).filter((_, i) => i % 7 === 0);

async function allCases(dtype: typeof TYPES[number]): Promise<Case[]> {
  let shapes = 0;
  heads ??= await fewHeads();
  return [
    ...matmulCases(() => shapes++ % 3 === 0).filter((_, i) => i % 3 === 0),
    ...storedProducts(),
    ...manyRows(),
    ...heads.map((test) =>
      test.op === "head" ? test : {
        ...test,
        outputs: Object.fromEntries(
          Object.keys(test.outputs).map((name) => [name, BACKWARD[dtype]]),
        ),
      }
    ),
  ];
}

for (const dtype of TYPES) {
  testCases(
    `products in ${dtype} agree with the float64 reference`,
    { all: () => allCases(dtype), brief: (cases) => cases.filter((_, i) => i % 9 === 0) },
    DEVICES_WITH_KERNELS,
    dtype,
  );
}

Deno.test("rounding to bfloat16: ties to even, and tiny magnitudes become zero", () => {
  const ulp = 2 ** -7;
  const given = [1 + ulp / 2, 1 + 3 * ulp / 2, 1 + ulp / 2 + 2 ** -20, -3.3, MIN_MAGNITUDE];
  const rounded = [1, 1 + 2 * ulp, 1 + ulp, -3.296875, MIN_MAGNITUDE];
  assert.deepEqual([...roundBf16(given)], rounded);
  assert.deepEqual([...roundBf16([MIN_MAGNITUDE * (1 - 2 ** -24), -1e-40, 0])], [0, 0, 0]);
  assert.deepEqual([...roundBf16([3.4e38, -Infinity, NaN])], [Infinity, -Infinity, NaN]);
});

Deno.test("rounding to float16: ties to even, multiples of 2^-24, infinite from 65520 on", () => {
  const ulp = 2 ** -10, least = 2 ** -24;
  const given = [1 + ulp / 2, 1 + 3 * ulp / 2, -3.3, least / 2, 0.75 * least, 2.5 * least, 65519];
  const rounded = [1, 1 + 2 * ulp, -3.30078125, 0, least, 2 * least, 65504];
  assert.deepEqual([...roundF16(given)], rounded);
  assert.deepEqual([...roundF16([65520, -1e9, NaN])], [Infinity, -Infinity, NaN]);
});

testOnEveryDevice(
  "every kind of number is rounded to float16 as the reference does",
  async (device) => {
    device.computeDtype = "float16";
    // Around every power of two, and between neighbours in binary16.
    const values = Float32Array.from({ length: 60 * 16 }, (_, i) => {
      const value = 2 ** (i / 16 - 28 | 0) * (1 + (i % 16) * 2 ** -12 + (i % 3) * 2 ** -20);
      return i % 2 === 0 ? value : -value;
    }).filter((value) => Math.abs(value) < 65520);
    const n = values.length, expected = roundF16(values).map((value) => value + 0);
    for (const m of [1, 4]) {
      // x·Wᵀ with one term: each column is a rounded value.
      const a = new Float32Array(m).fill(1), out = new Float32Array(m * n);
      const args = { a, b: values, out, m, n, k: 1, transB: true };
      const found = (await execute(device, { op: "matmul", args })).get("out")!;
      for (let i = 0; i < m * n; i++) {
        assert.equal(found[i]! + 0, expected[i % n], `${values[i % n]}`);
      }
    }
  },
);

Deno.test("a row has the same bits in bfloat16 alone and among any other rows", async () => {
  using device = await createWasmDevice({ threads: 2 });
  device.computeDtype = "bfloat16";
  for (const transB of [true, false]) {
    const random = stream(`company ${transB}`), n = 70, k = 2500, m = 45;
    const float = () => random.normal();
    const a = Float32Array.from({ length: m * k }, float);
    const b = Float32Array.from({ length: n * k }, float);
    const product = async (a: Float32Array) => {
      const m = a.length / k, out = new Float32Array(m * n);
      const after = await execute(device, { op: "matmul", args: { a, b, out, m, n, k, transB } });
      return after.get("out")!;
    };
    const whole = await product(a);
    for (const [first, count] of [[0, 1], [7, 16], [40, 5]] as const) {
      const part = await product(a.slice(first * k, (first + count) * k));
      assert.ok(sameBits(part, whole.subarray(first * n, (first + count) * n)), `${first}`);
    }
  }
});
