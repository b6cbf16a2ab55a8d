/**
 * Kernels that exchange values within subgroups (ops/common/wgsl/subgroups.ts), against the float64
 * reference, with the same bits on webgpu and vulkan. On a software adapter a subgroup has few
 * invocations, so that most sums go through several of them.
 */
import assert from "node:assert/strict";
import { NEEDED, needs } from "../../tests/skipped.ts";
import { createVulkanDevice } from "../devices/vulkan/device.ts";
import { hasVulkan } from "../devices/vulkan/testing.ts";
import { choicePoint } from "../devices/webgpu/choice_points.ts";
import { createWebgpuDevice, type WebgpuDevice } from "../devices/webgpu/device.ts";
import { judge, probeSubgroups } from "../devices/webgpu/subgroups.ts";
import { isWebgpuWanted, webgpuTest } from "../devices/webgpu/testing.ts";
import { sameBits, stream } from "../testing.ts";
import { attentionCases, attentionDecodeCases } from "./cases/attention_testing.ts";
import { productCase } from "./cases/matmul_testing.ts";
import { type Case, checkCase, execute } from "./runner_testing.ts";

/** Cases, with the kernel that each choice of the operation is to use. */
function tries(): [Case, Record<string, string>][] {
  const random = stream("subgroups"), x = { transB: true } as const;
  const product = (kernel: string, shape: Omit<Parameters<typeof productCase>[1], "r">, r = 0) =>
    [productCase(random, { r, ...shape }), { matmul: kernel }] as [Case, Record<string, string>];
  const decode = attentionDecodeCases().find(({ name }) =>
    name === "5 branches, prompt 90, new 40, heads 6,2,64"
  )!;
  const attend = attentionCases().filter(({ name }) => /^\[\[70,.*heads 6,2,64$/.test(name));
  return [
    product("vector 64 x8 subgroups", { m: 1, n: 37, k: 600, ...x }),
    product("vector 256 x8 subgroups", { m: 3, n: 21, k: 700, ...x, weightType: "bf16" }, 5),
    product("vector 256 x16 subgroups", { m: 2, n: 50, k: 333, packedB: true }, 3),
    product("vector 64 x8 subgroups", { m: 2, n: 50, k: 512, ...x, weightType: "q4_0" }),
    [decode, {
      "attention_decode.prefix": "16x8x2 256 subgroups",
      "attention_decode.branch": "32x4x1 256 subgroups",
    }],
    ...attend.map((
      test,
    ): [Case, Record<string, string>] => [test, { attention: "16x8x2 subgroups" }]),
  ];
}

/** Sets the kernels of the device for a case. They must be among the candidates. */
function choose(device: WebgpuDevice, test: Case, kernels: Record<string, string>): void {
  device.kernelChoices = Object.fromEntries(
    Object.entries(kernels).map(([point, kernel]) => {
      const { classOf, candidates } = choicePoint(point);
      assert.ok(candidates(test.args, device).includes(kernel), `${test.name}: ${kernel}`);
      return [classOf(test.args, device)!, kernel];
    }),
  );
}

webgpuTest(
  "kernels with subgroups are right, or the reason why there are none is named",
  async () => {
    const found = await probeSubgroups(() => createWebgpuDevice());
    if ("reason" in found) {
      assert.match(found.reason, /does not offer|SUBGROUP|subgroup/);
      return;
    }
    const device = await createWebgpuDevice({ trace: "stamps" });
    const like = hasVulkan ? await createVulkanDevice() : null;
    try {
      device.subgroups = true;
      if (like !== null) like.subgroups = true;
      const cases = tries();
      assert.ok(cases.length >= 6);
      for (const [test, kernels] of cases) {
        choose(device, test, kernels);
        const results = await checkCase(device, test);
        if (like === null) continue;
        choose(like, test, kernels);
        for (const [name, bits] of await execute(like, test)) {
          assert.ok(sameBits(bits, results.get(name)!), `${test.op} ${test.name}: ${name}`);
        }
      }
      const names = device.kernelTimes().map(({ name }) => name);
      const parts = ["vector1", "vector3.lora", "panels2.lora", "q4_0.vector2"];
      const others = ["decode.prefix", "decode.branch", "attention."];
      for (const part of [...parts, ...others]) {
        assert.ok(names.some((name) => name.includes(part) && name.endsWith(".subgroups")), part);
      }
      assert.equal(device.allocatedBytes, 0);
    } finally {
      device.close();
      like?.close();
    }
  },
);

/** The test above compares the bits of both; this one is for the validation layer. */
const isAsked = Deno.env.get("RGX_TEST_VULKAN") === "1" ||
  Deno.env.get("VK_INSTANCE_LAYERS") !== undefined;

if (isWebgpuWanted) {
  Deno.test({
    name: "kernels with subgroups are right on vulkan",
    ignore: needs(hasVulkan, NEEDED.vulkan) || needs(isAsked, NEEDED.validationLayer),
    async fn() {
      const device = await createVulkanDevice();
      try {
        device.subgroups = true;
        for (const [test, kernels] of tries()) {
          choose(device, test, kernels);
          await checkCase(device, test);
        }
      } finally {
        device.close();
      }
    },
  });
  Deno.test({
    name: "subgroups are found on vulkan, whatever Deno's WebGPU has",
    ignore: needs(hasVulkan, NEEDED.vulkan),
    async fn() {
      const found = await probeSubgroups(() => createVulkanDevice());
      assert.ok("lanes" in found && found.lanes >= 4, JSON.stringify(found));
    },
  });
}

Deno.test("a device whose subgroups are other than kernels rely on is refused", () => {
  const numbers = (lanes: number, id: (local: number) => number) =>
    Uint32Array.from({ length: 1024 }, (_, i) => {
      const local = i % 256;
      if (i >= 768) return local - local % lanes + (local + 1) % lanes;
      if (i >= 512) return id(local);
      if (i >= 256) return lanes;
      const summed = Math.min(32, lanes), first = i - i % summed;
      return Array.from({ length: summed }, (_, j) => (first + j) ** 2 % 97).reduce((a, b) =>
        a + b
      );
    });
  assert.deepEqual(judge(numbers(16, (local) => local % 16)), { lanes: 16 });
  assert.deepEqual(judge(numbers(1, () => 0)), { reason: "its subgroups have 1 invocations" });
  assert.deepEqual(judge(numbers(24, (local) => local % 24)), {
    reason: "its subgroups have 24 invocations",
  });
  const odd = judge(numbers(8, (local) => (local * 3) % 8));
  assert.deepEqual(odd, { reason: "invocations are not in their subgroups by their numbers" });
  const far = numbers(8, (local) => local % 8);
  far[768 + 7] = 8;
  assert.deepEqual(judge(far), { reason: "a neighbour gives 8, expected 0" });
  const wrong = numbers(8, (local) => local % 8);
  wrong[40] = 1;
  assert.match((judge(wrong) as { reason: string }).reason, /a sum is 1, expected/);
});
