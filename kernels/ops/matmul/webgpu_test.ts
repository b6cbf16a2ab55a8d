/**
 * The matrix product on the GPU: every tile, products beyond one binding, and the kernels' text.
 */
import assert from "node:assert/strict";
import { matmulCases, productCase } from "../../conformance/cases/matmul.ts";
import { type Case, checkCase } from "../../conformance/runner.ts";
import { randomStored } from "../../conformance/cases/random_stored.ts";
import type { Device } from "../../device.ts";
import { normals, sameBits, stream, upload } from "../../testing.ts";
import { createWebgpuDevice, type WebgpuDevice } from "../../devices/webgpu/device.ts";
import { kernel } from "../common/wgsl/kernel.ts";
import { checkSnapshot, testOnWebgpu } from "../../devices/webgpu/testing.ts";
import type { MatmulArgs } from "./spec.ts";
import { tileKernel, type TileShape } from "./webgpu/tile.wgsl.ts";
import { storedVectorKernel } from "./webgpu/stored_vector.wgsl.ts";
import { panelVectorKernel, vectorKernel } from "./webgpu/vector.wgsl.ts";
import { chooseKernel, chooseTile, matmulWith, TILES } from "./webgpu.ts";

/** The cases of these shapes: [m×k]·[k×n]. */
function ofShapes(...shapes: string[]): Case[] {
  const picked = matmulCases().filter(({ name }) => shapes.some((shape) => name.startsWith(shape)));
  assert.ok(picked.length >= 6 * shapes.length);
  return picked;
}

/** Products with weights beyond 2^13 words, in panels and in halves, in both directions. */
const STORED = (["q4_1", "nf4", "f16"] as const).flatMap((weightType) => {
  const random = stream(`cut ${weightType}`);
  return [
    productCase(random, { m: 2, n: 150, k: 1024, r: 3, transB: true, weightType }),
    productCase(random, { m: 20, n: 150, k: 1024, r: 0, transB: true, weightType }),
    productCase(random, { m: 20, n: 1024, k: 150, r: 0, weightType }),
  ];
});

/** The device with every product computed by one tile. */
function withTile(device: WebgpuDevice, tile: TileShape): Device {
  return {
    name: device.name,
    float: device.float,
    computeDtype: device.computeDtype,
    threads: device.threads,
    create: (dtype, length, label) => device.create(dtype, length, label),
    write: (...args) => device.write(...args),
    read: (...args) => device.read(...args),
    free: (tensor) => device.free(tensor),
    run: (_op, args) => matmulWith(tile, args as MatmulArgs, device),
    submit: () => device.submit(),
    allocatedBytes: 0,
    peakBytes: 0,
    resetPeak: () => {},
    close: () => {},
  };
}

/** Each tile, and one whose invocations load blocks of one operand and then of the other. */
const TESTED: readonly (readonly [string, TileShape])[] = [
  ...Object.entries(TILES),
  ["two rounds", { bm: 32, bn: 32, tm: 4, tn: 4, bk: 32, slices: 1 }],
];

/** A product with a weight in blocks; the types and the two directions take turns. */
function storedProduct(number: number): Case {
  const weightType = (["q4_k", "nf4", "q8_0", "q5_0", "q4_1", "q6_k"] as const)[number]!;
  const random = stream(`tile ${weightType}`);
  return productCase(
    random,
    number % 2 === 1
      ? { m: 33, n: 50, k: 256, r: 5, transB: true, weightType }
      : { m: 33, n: 256, k: 50, r: 0, weightType },
  );
}

TESTED.forEach(([name, tile], number) => {
  testOnWebgpu(`products by the tile "${name}"`, {}, async (device) => {
    const cases = ofShapes(
      "[65×257]·[257×129]",
      "[132×36]·[36×68]",
      "[12×392]·[392×132]",
      "[5×0]·[0×7]",
      "[17×6]·[6×35]",
      "[70×68]·[68×130]",
    );
    // Each tile gets another fifth of the cases: compiling all variants of all tiles takes minutes.
    const some = cases.filter((_, i) => i % 5 === number);
    const tests = [...some, storedProduct(number)];
    for (const test of tests) await checkCase(withTile(device, tile), test);
  });
});

testOnWebgpu("products beyond one binding", { bindingElements: 2 ** 13 }, async (device) => {
  const cases = ofShapes(
    "[65×257]·[257×129]",
    "[2×128]·[128×68]",
    "[12×392]·[392×132]",
    "[200×320]·[320×64]",
  );
  for (const test of cases) await checkCase(device, test);
  for (const test of STORED) await checkCase(device, test);
  const packing = matmulCases().filter(({ op }) => op === "pack_weight");
  for (const test of packing) await checkCase(device, test);
});

testOnWebgpu("a divided product has the bits of an undivided one", {}, async (whole) => {
  const cut = await createWebgpuDevice({ limits: { bindingElements: 4096 } });
  const run = async (device: Device, args: Omit<MatmulArgs, "a" | "b" | "out">) => {
    const { m, n, k, transB, weightType } = args, random = stream(`cut ${m} ${n} ${k}`);
    const a = upload(device, normals(random, m * k));
    const weight = weightType === undefined
      ? normals(random, k * n)
      : randomStored(random, weightType, transB ? n : k, transB ? k : n);
    const b = upload(device, weight);
    const out = device.create("float", m * n, "out");
    device.run("matmul", { ...args, a, b, out });
    const found = await device.read(out);
    for (const tensor of [a, b, out]) device.free(tensor);
    return found;
  };
  try {
    for (
      const args of [
        { m: 50, n: 40, k: 160 },
        { m: 50, n: 40, k: 160, transA: true },
        { m: 120, n: 44, k: 36 },
        { m: 120, n: 44, k: 36, transA: true, transB: true },
        { m: 2, n: 300, k: 512, transB: true },
        { m: 2, n: 300, k: 512, transB: true, weightType: "q4_0" as const },
        { m: 20, n: 300, k: 128, transB: true, weightType: "q8_0" as const },
        { m: 20, n: 128, k: 160, weightType: "q8_0" as const },
      ]
    ) {
      const before = cut.counters.dispatches;
      assert.ok(sameBits(await run(cut, args), await run(whole, args)), JSON.stringify(args));
      assert.ok(cut.counters.dispatches > before + 1, "one dispatch");
    }
  } finally {
    cut.close();
  }
});

Deno.test("the kernel of a product is chosen by its shape", () => {
  const shape = (m: number, n: number) => chooseTile(m, n, false);
  assert.equal(shape(4096, 4096), TILES.large);
  assert.equal(shape(4096, 128), TILES.small);
  assert.equal(shape(64, 4864), TILES.small);
  assert.equal(shape(16, 151_936), TILES.skinny);
  assert.equal(shape(4096, 16), TILES.skinny);
  assert.equal(chooseTile(4096, 4096, true), TILES.software);
  const tensors = { a: null, b: null, out: null } as unknown as Pick<MatmulArgs, "a" | "b" | "out">;
  const kernelOf = (m: number, layout: Partial<MatmulArgs>) =>
    chooseKernel({ ...tensors, m, n: 896, k: 896, ...layout }, false);
  assert.equal(kernelOf(3, { transB: true }), "vector");
  assert.equal(kernelOf(1, { packedB: true, transA: true }), "vector");
  assert.equal(kernelOf(2, { transA: true, transB: true }), TILES.skinny);
  assert.equal(kernelOf(1, {}), TILES.skinny);
});

Deno.test("the text of the product's kernels has not changed", async () => {
  const layout = { a: "along", b: "along", bType: "f32", aligned: true, lora: false } as const;
  const texts = {
    large: tileKernel({ ...TILES.large, ...layout }),
    skinny_bf16: tileKernel({ ...TILES.skinny, ...layout, bType: "bf16" }),
    small_lora: tileKernel({
      ...{ ...TILES.small, aligned: false, lora: true },
      ...{ a: "across", b: "panels", bType: "f32" },
    }),
    vector: vectorKernel({ rows: 2, threads: 256, bType: "f16", aligned: true, lora: true }),
    medium_q6_k: tileKernel({ ...TILES.medium, ...layout, bType: "q6_k" }),
    skinny_nf4_across: tileKernel({ ...TILES.skinny, ...layout, b: "across", bType: "nf4" }),
    stored_vector: storedVectorKernel({
      ...{ rows: 2, threads: 128, columns: 8, type: "q5_0", lora: true },
    }),
    panels: panelVectorKernel({ rows: 1, threads: 256, columns: 8, lora: false }),
  };
  for (const [name, text] of Object.entries(texts)) {
    await checkSnapshot(import.meta, name, kernel(text));
  }
});
