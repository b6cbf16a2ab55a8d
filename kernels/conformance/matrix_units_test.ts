/**
 * Products in bfloat16 on a card's matrix units (ops/matmul/webgpu/matrix.wgsl.ts), against the
 * float64 reference. They need a driver with VK_KHR_cooperative_matrix. Mesa's software driver has
 * it from 26.1 on: `tools/testing/lavapipe.sh FOLDER` fetches it, and with
 * RGX_TEST_LAVAPIPE=FOLDER this file starts itself once more with that driver.
 */
import assert from "node:assert/strict";
import { NEEDED, needs } from "../../tests/skipped.ts";
import { createVulkanDevice, vulkanAdapters } from "../devices/vulkan/device.ts";
import { hasVulkan } from "../devices/vulkan/testing.ts";
import type { WebgpuDevice } from "../devices/webgpu/device.ts";
import { isWebgpuWanted } from "../devices/webgpu/testing.ts";
import { roundBf16 } from "../ops/matmul/bf16.ts";
import { stream, upload } from "../testing.ts";
import { blockOf, WEIGHT_TYPES } from "../weights/types.ts";
import { productCase } from "./cases/matmul_testing.ts";
import { type Case, checkCase } from "./runner_testing.ts";

const hasUnits = hasVulkan && vulkanAdapters()[0]!.matrixUnits !== null;
const folder = Deno.env.get("RGX_TEST_LAVAPIPE");

if (hasUnits) defineTests();
else if (isWebgpuWanted) {
  Deno.test({
    name: "products on matrix units are right (a driver of its own)",
    ignore: needs(folder !== undefined, NEEDED.lavapipe),
    async fn() {
      const { code, stdout, stderr } = await new Deno.Command(`${folder}/run`, {
        args: [
          Deno.execPath(),
          "test",
          "-A",
          "--no-check",
          "--config",
          `${import.meta.dirname}/../../deno.json`,
          import.meta.filename!,
        ],
        env: { NO_COLOR: "1", RGX_VULKAN_LIB: `${folder}/libvulkan.so.1` },
      }).output();
      const text = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
      assert.equal(code, 0, text);
      assert.match(text, /a product in every layout .* ok/);
      assert.match(text, /[1-9] passed \| 0 failed/);
    },
  });
}

function defineTests(): void {
  testUnits("a product in every layout and storage type is right", async (device) => {
    for (const test of products()) await checkCase(device, test);
    const names = device.kernelTimes().map(({ name }) => name);
    assert.ok(names.some((name) => name.startsWith("matmul.matrix")), names.join());
    assert.equal(device.allocatedBytes, 0);
  });

  testUnits("rows of very different magnitudes keep their precision", async (device) => {
    const m = 40, n = 30, k = 70, random = stream("magnitudes");
    const exponents = Array.from({ length: m }, (_, row) => -40 + 2 * row);
    const a = Float32Array.from(
      { length: m * k },
      (_, i) => random.normal() * 2 ** exponents[Math.floor(i / k)]!,
    );
    const b = Float32Array.from({ length: n * k }, () => random.normal());
    const found = await product(device, a, b, m, n, k);
    const left = roundBf16([...a]), right = roundBf16([...b]);
    for (let i = 0; i < m; i++) {
      for (let j = 0; j < n; j++) {
        let sum = 0, magnitudes = 0;
        for (let t = 0; t < k; t++) {
          const term = left[i * k + t]! * right[j * k + t]!;
          sum += term;
          magnitudes += Math.abs(term);
        }
        const error = Math.abs(found[i * n + j]! - sum) / magnitudes;
        assert.ok(error < 2 ** -20, `row ${i}, column ${j}: ${error}`);
      }
    }
  });

  testUnits("zeros stay zeros, and infinity and NaN are not hidden", async (device) => {
    const m = 20, n = 20, k = 40, a = new Float32Array(m * k), b = new Float32Array(n * k).fill(1);
    a.fill(1, k, 2 * k);
    a[2 * k + 3] = Infinity;
    a[3 * k + 5] = NaN;
    const found = await product(device, a, b, m, n, k);
    const first = (row: number) => found[row * n]!;
    assert.deepEqual([first(0), first(1), first(2), first(3)], [0, k, Infinity, NaN]);
    assert.equal(found[m * n - 1], 0);
  });
}

/** One for all tests: an emulated card takes up to ten seconds to compile a kernel. */
let card: WebgpuDevice | undefined;
globalThis.addEventListener("unload", () => card?.close());

/** A test on a device that computes in bfloat16 and times its kernels. */
function testUnits(name: string, body: (device: WebgpuDevice) => Promise<void>): void {
  Deno.test(`${name} (matrix units)`, async () => {
    card ??= await createVulkanDevice({ trace: "stamps" });
    card.computeDtype = "bfloat16";
    await body(card);
  });
}

function products(): Case[] {
  const random = stream("matrix units");
  const sizes = [[16, 16, 16], [64, 64, 32], [70, 130, 95], [129, 33, 200]] as const;
  const layouts = [
    { transB: true },
    {},
    { transA: true },
    { transA: true, transB: true },
  ] as const;
  const plain = sizes.flatMap(([m, n, k], i) =>
    layouts.map((layout) => productCase(random, { m, n, k, r: i % 2 === 0 ? 0 : 21, ...layout }))
  );
  // How a type is widened does not depend on the layout: types take turns.
  const stored = WEIGHT_TYPES.map((weightType, i) => {
    const block = blockOf(weightType), long = 2 * Math.max(block, 32);
    return productCase(
      random,
      i % 2 === 0
        ? { m: 37, n: 50, k: long, r: 5, transB: true, weightType }
        : { m: 19, n: Math.max(block, 32), k: 45, r: 0, weightType },
    );
  });
  return [...plain, ...stored];
}

/** a · bᵀ on the device. */
async function product(
  device: WebgpuDevice,
  a: Float32Array,
  b: Float32Array,
  m: number,
  n: number,
  k: number,
): Promise<Float32Array> {
  const tensors = { a: upload(device, a), b: upload(device, b) };
  const out = device.create("float", m * n, "out");
  device.run("matmul", { ...tensors, out, m, n, k, transB: true });
  return await device.read(out) as Float32Array;
}
