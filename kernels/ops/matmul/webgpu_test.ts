/**
 * The matrix product on the GPU: every tile, products beyond one binding, and the kernels' text.
 */
import assert from "node:assert/strict";
import { isForCards, matmulCases, productCase } from "../../conformance/cases/matmul_testing.ts";
import { type Case, checkCase } from "../../conformance/runner_testing.ts";
import { randomStored } from "../../weights/random_stored.ts";
import type { Device } from "../../device.ts";
import { normals, sameBits, stream, upload } from "../../testing.ts";
import { createWebgpuDevice, type WebgpuDevice } from "../../devices/webgpu/device.ts";
import { testOnWebgpu } from "../../devices/webgpu/testing.ts";
import type { WebgpuLimits } from "../common/webgpu_op.ts";
import type { MatmulArgs } from "./spec.ts";
import type { TileShape } from "./webgpu/tile.wgsl.ts";
import {
  chooseKernel,
  chooseTile,
  kernelName,
  kernelNamed,
  MORE_TILES,
  productChoice,
  TILES,
  VECTOR,
} from "./webgpu/choose.ts";

/** The cases of these shapes: [m×k]·[k×n]. */
function ofShapes(...shapes: string[]): Case[] {
  const picked = matmulCases((shape) => shapes.includes(shape)).filter(isForCards);
  assert.ok(picked.length >= 4 * shapes.length);
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

/** Checks a case whose product is computed by a kernel of the caller's choice. */
function checkWith(device: WebgpuDevice, tile: TileShape, test: Case) {
  const shape = productChoice.classOf(test.args as unknown as MatmulArgs, device);
  device.kernelChoices = shape === null ? {} : { [shape]: kernelName(tile) };
  return checkCase(device, test);
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
    const cases = ofShapes("[65×257]·[257×129]", "[12×392]·[392×132]", "[70×68]·[68×130]");
    // Each tile gets another fifth of the cases: compiling all variants of all tiles takes minutes.
    // The suite has them for one tile.
    const some = cases.filter((_, i) => i % 5 === number);
    const tests = [...some, storedProduct(number)];
    for (const test of tests) await checkWith(device, tile, test);
  });
});

testOnWebgpu("what only a CPU has is refused", {}, async (device) => {
  for (const test of matmulCases((shape) => shape === "[64×64]·[64×64]")) {
    if (!isForCards(test)) await assert.rejects(checkCase(device, test), /graphics card/);
  }
});

testOnWebgpu("every tile that only the tuner takes computes products", {}, async (device) => {
  const random = stream("tuner's tiles");
  const layouts = [{}, { transA: true }, { transB: true }] as const;
  for (const [i, tile] of MORE_TILES.entries()) {
    const test = productCase(random, { m: 68, n: 132, k: 36, r: 0, ...layouts[i % 3]! });
    await checkWith(device, tile, test);
  }
});

testOnWebgpu("sums in parts, also of products beyond one binding", {}, async (device) => {
  const random = stream("parts");
  const tile = { ...TILES.skinny, bk: 64, parts: 4 };
  const product = { m: 36, n: 20, k: 1100, r: 0, transA: true } as const;
  await checkWith(device, tile, productCase(random, product));
  await checkWith(device, tile, productCase(random, { ...product, m: 35, n: 19 }));
  // Beside an adapter, and where one part is enough, the sum is not divided.
  const few = { m: 8, n: 20, k: 96, r: 3, transB: true } as const;
  await checkWith(device, tile, productCase(random, few));
  using cut = await createWebgpuDevice({ limits: { bindingElements: 24_576 } });
  const test = productCase(stream("cut parts"), { ...product, k: 2100 });
  const whole = await checkWith(device, tile, test);
  const before = cut.counters.dispatches;
  const found = await checkWith(cut, tile, test);
  assert.ok(cut.counters.dispatches > before + 3 * 2, "one piece");
  assert.ok(sameBits(found.get("out")!, whole.get("out")!));
});

testOnWebgpu("a product uses the kernel that was chosen for its class", {}, async (device) => {
  const [m, n, k] = [40, 20, 64], args = { m, n, k, transB: true };
  const [a, b, out] = [m * k, n * k, m * n].map((size) => device.create("float", size, "x"));
  const kernels: string[] = [], dispatch = device.dispatch.bind(device);
  device.dispatch = (call) => (kernels.push(call.kernel.name), dispatch(call));
  const run = () => device.run("matmul", { a: a!, b: b!, out: out!, ...args });
  device.kernelChoices = { "matmul 64x32x64 nt f32": "tile 64x16 4x4 k64 s4" };
  run();
  device.kernelChoices = { "matmul 64x32x64 nt bf16": "tile 64x16 4x4 k64 s4" };
  run();
  device.kernelChoices = {};
  run();
  await device.read(out!);
  assert.deepEqual(kernels, [
    "matmul.64x16x64s4",
    ...Array(2).fill("matmul.32x32x16"),
  ]);
});

Deno.test("what can be chosen depends on the card's limits, and names its kernel", () => {
  const tensors = { a: null, b: null, out: null } as unknown as Pick<MatmulArgs, "a" | "b" | "out">;
  const limits = { bindingElements: 2 ** 28, groupsPerDimension: 65_535 };
  const namesOf = (args: Omit<MatmulArgs, "a" | "b" | "out">, workgroupBytes = 49_152) =>
    productChoice.candidates({ ...tensors, ...args }, {
      limits: { ...limits, workgroupBytes, invocations: 1024 },
      software: false,
      computeDtype: "float32",
    });
  const large = { m: 4096, n: 4864, k: 896, transB: true };
  assert.deepEqual(kernelNamed(namesOf(large)[0]!), TILES.large);
  assert.ok(namesOf(large).every((name) => name.endsWith(" s1")), "no tile for few rows");
  assert.ok(namesOf({ ...large, m: 16 }).includes("tile 16x64 4x4 k64 s4"));
  assert.ok(!namesOf({ ...large, m: 16 }, 16_384).includes("tile 16x64 4x4 k64 s4"));
  const one = namesOf({ ...large, m: 1 });
  assert.equal(one[0], "vector");
  assert.ok(one.includes("vector 64 x8") && !one.includes("vector 64 x16"));
  assert.ok(namesOf({ ...large, m: 1, weightType: "nf4" }).includes("vector 64 x16"));
  for (const name of [...one, ...namesOf(large)]) assert.ok(kernelNamed(name));
  // Of earlier versions, in caches and checkpoints.
  assert.deepEqual(kernelNamed("vector 64 x8 subgroups"), kernelNamed("vector 64 x8"));
  assert.throws(
    () => kernelNamed("tile 1x1"),
    /there is no matrix product "tile 1x1" among the kernels/,
  );
  const traits = { limits: { ...limits, workgroupBytes: 1, invocations: 1 }, software: false };
  const empty = { ...tensors, ...large, m: 0 };
  assert.equal(productChoice.classOf(empty, { ...traits, computeDtype: "float32" }), null);
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
});

testOnWebgpu("a divided product has the bits of an undivided one", {}, async (whole) => {
  using cut = await createWebgpuDevice({ limits: { bindingElements: 4096 } });
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
  const limits = {} as WebgpuLimits; // only the matrix units have limits of their own
  const traits = { software: false, computeDtype: "float32", limits } as const;
  const kernelOf = (m: number, layout: Partial<MatmulArgs>) =>
    chooseKernel({ ...tensors, m, n: 896, k: 896, ...layout }, traits);
  assert.equal(kernelOf(3, { transB: true }), VECTOR);
  assert.equal(kernelOf(1, { transB: true, transA: true }), VECTOR);
  assert.equal(kernelOf(2, { transA: true, transB: true }), TILES.skinny);
  assert.equal(kernelOf(1, {}), TILES.skinny);
  // The gradients of an adapter: few outputs, long sums.
  assert.deepEqual(kernelOf(896, { n: 16, k: 4096, transA: true }), { ...TILES.skinny, parts: 4 });
  assert.equal(kernelOf(896, { n: 16, k: 1024, transA: true }), TILES.skinny);
  assert.equal(kernelOf(4096, { n: 16, k: 4096, transA: true }), TILES.skinny);
});
