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
import type { SampleArgs } from "../ops/sample/spec.ts";
import { sameBits, stream } from "../testing.ts";
import { attentionCases, attentionDecodeCases } from "./cases/attention.ts";
import { headCases } from "./cases/head.ts";
import { layernormCases } from "./cases/layernorm.ts";
import { productCase } from "./cases/matmul.ts";
import { rmsnormCases } from "./cases/rmsnorm.ts";
import { type Case, checkCase, execute } from "./runner.ts";
import { countersOf, drawTokens, logitsOf, PLAIN } from "./sample_checks.ts";

/** Cases, with the kernel that each choice of the operation is to use. */
function tries(): [Case, Record<string, string>][] {
  const random = stream("subgroups"), x = { transB: true } as const;
  const product = (kernel: string, shape: Omit<Parameters<typeof productCase>[1], "r">, r = 0) =>
    [productCase(random, { r, ...shape }), { matmul: kernel }] as [Case, Record<string, string>];
  const norm = (cases: Case[], part: string, kernel: string) =>
    cases.filter(({ name }) => name.startsWith(part)).map((test) =>
      [test, { [test.op]: kernel }] as [Case, Record<string, string>]
    );
  const decode = attentionDecodeCases().find(({ name }) =>
    name === "5 branches, prompt 90, new 40, heads 6,2,64"
  )!;
  const attend = attentionCases().filter(({ name }) => /^\[\[70,.*heads 6,2,64$/.test(name));
  const head = (begin: string, kernel: string) =>
    headCases().filter(({ name }) => name.startsWith(begin)).map((test) =>
      [test, { "head.rows": kernel }] as [Case, Record<string, string>]
    );
  return [
    product("vector 64 x8 subgroups", { m: 1, n: 37, k: 600, ...x }),
    product("vector 256 x8 subgroups", { m: 3, n: 21, k: 700, ...x, weightType: "bf16" }, 5),
    product("vector 256 x16 subgroups", { m: 2, n: 50, k: 333, packedB: true }, 3),
    product("vector 64 x8 subgroups", { m: 2, n: 50, k: 512, ...x, weightType: "q4_0" }),
    ...norm(rmsnormCases(), "[33×288]", "32 subgroups"),
    ...norm(rmsnormCases(), "[7×577] accumulate", "256 subgroups"),
    ...norm(layernormCases(), "[33×65]", "64 subgroups"),
    [decode, {
      "attention_decode.prefix": "16x8x2 256 subgroups",
      "attention_decode.branch": "32x4x1 256 subgroups",
    }],
    ...attend.map((
      test,
    ): [Case, Record<string, string>] => [test, { attention: "16x8x2 subgroups" }]),
    ...head("sharp", "256 x1 subgroups"),
    ...head("vocab 2100, d 1100", "256 x4 subgroups"),
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
      assert.ok(cases.length > 15);
      for (const [test, kernels] of cases) {
        choose(device, test, kernels);
        const results = await checkCase(device, test);
        if (/^(rmsnorm|head)/.test(test.op)) {
          const inMemory = Object.entries(kernels).map((
            [point, name],
          ) => [point, name.replace(" subgroups", point === test.op ? " memory" : "")]);
          choose(device, test, Object.fromEntries(inMemory));
          for (const [name, bits] of await execute(device, test)) {
            assert.ok(sameBits(bits, results.get(name)!), `${test.op} ${test.name}: ${name}`);
          }
        }
        if (like === null) continue;
        choose(like, test, kernels);
        for (const [name, bits] of await execute(like, test)) {
          assert.ok(sameBits(bits, results.get(name)!), `${test.op} ${test.name}: ${name}`);
        }
      }
      const names = device.kernelTimes().map(({ name }) => name);
      const parts = ["vector1", "vector3.lora", "panels2.lora", "q4_0.vector2", "rmsnorm.residual"];
      const others = [
        "layernorm_backward",
        "decode.prefix",
        "decode.branch",
        "attention.",
        "head.m",
      ];
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

webgpuTest("draws in subgroups are those in memory, bit by bit", async () => {
  const found = await probeSubgroups(() => createWebgpuDevice());
  const devices = [];
  if ("lanes" in found) devices.push(await createWebgpuDevice());
  if (hasVulkan) devices.push(await createVulkanDevice());
  const vocab = 1500, rows = 6, counters = countersOf(rows);
  const logits = logitsOf("subgroups", rows, vocab), scored = logits.map((x) => x / 2);
  for (const device of devices) {
    try {
      device.subgroups = true;
      for (
        const options of [PLAIN, { ...PLAIN, temperature: 0 }, { ...PLAIN, topP: 0.9 }]
      ) {
        const draw = () => drawTokens(device, logits, counters, vocab, options, scored);
        device.kernelChoices = {};
        const inMemory = await draw(), args = { ...options, rows, vocab } as SampleArgs;
        const kernels = { "sample.draw": "subgroups", sample: "256 spread x4 subgroups" };
        device.kernelChoices = Object.fromEntries(
          Object.entries(kernels).flatMap(([point, kernel]) => {
            const { classOf, candidates } = choicePoint(point);
            const name = classOf({ ...args }, device);
            if (name === null) return [];
            assert.ok(candidates({ ...args }, device).includes(kernel), kernel);
            return [[name, kernel]];
          }),
        );
        assert.deepEqual(await draw(), inMemory, `${device.name} ${JSON.stringify(options)}`);
      }
    } finally {
      device.close();
    }
  }
});

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
      const first = i - i % 32;
      return Array.from({ length: 32 }, (_, j) => (first + j) ** 2 % 97).reduce((a, b) => a + b);
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
