/**
 * A whole run has the same bits on webgpu and vulkan with the same kernels, those with subgroups
 * too. Its rehearsal knows all the shapes that the run then has.
 */
import assert from "node:assert/strict";
import { withFolder } from "../../core/testing.ts";
import { createVulkanDevice } from "../../kernels/devices/vulkan/device.ts";
import { hasVulkan } from "../../kernels/devices/vulkan/testing.ts";
import { choicePoint } from "../../kernels/devices/webgpu/choice_points.ts";
import { createWebgpuDevice, type WebgpuDevice } from "../../kernels/devices/webgpu/device.ts";
import { probeSubgroups } from "../../kernels/devices/webgpu/subgroups.ts";
import { isWebgpuWanted, webgpuTest } from "../../kernels/devices/webgpu/testing.ts";
import { sameBits } from "../../kernels/testing.ts";
import type { HostArray } from "../../kernels/tensor.ts";
import { CausalLM } from "../../models/causal_lm.ts";
import { initWeights } from "../../models/network/weights/init.ts";
import { NEEDED, needs } from "../../tests/skipped.ts";
import { assemble } from "../assemble.ts";
import { BenchStep } from "../grpo_step_bench.ts";
import { shortRunConfig, trainOn, VARYING_RUBRIC } from "../testing.ts";
import { GrpoTrainer } from "../trainer.ts";

const ONE_STEP = { sft: { max_steps: 0 }, eval: { num_examples: 0 } };

/** The kernels of a run by class: those with subgroups where an operation has one. */
async function kernelsOf(device: WebgpuDevice, folder: string): Promise<Record<string, string>> {
  const config = shortRunConfig(folder, ONE_STEP), parts = await assemble(config, device);
  const trainer = new GrpoTrainer({ config, configText: "", device, ...parts });
  const calls = await trainer.rehearse();
  parts.model.dispose();
  return Object.fromEntries(calls.map((call) => {
    const names = choicePoint(call.point).candidates({ ...call.scalars, ...call.tensors }, device);
    return [call.class, names.find((name) => name.endsWith("subgroups")) ?? names[0]!];
  }));
}

webgpuTest("a run with the same kernels has the same bits on webgpu and vulkan", async () => {
  const hasSubgroups = "lanes" in await probeSubgroups(() => createWebgpuDevice());
  await withFolder(async (folder) => {
    const runs = [];
    for (const open of [createWebgpuDevice, createVulkanDevice]) {
      const device = await open({ trace: "stamps" });
      try {
        device.subgroups = hasSubgroups;
        device.kernelChoices = await kernelsOf(device, `${folder}/none`);
        const path = `${folder}/${device.name}`, choices = device.kernelChoices;
        const choose = device.choose.bind(device);
        device.choose = (point, args) => {
          const name = point.classOf(args, device);
          assert.ok(name === null || name in choices, `${name} was not rehearsed`);
          return choose(point, args);
        };
        await trainOn(device, shortRunConfig(path, ONE_STEP), { rubric: VARYING_RUBRIC });
        const names = device.kernelTimes().map(({ name }) => name);
        runs.push({ choices, names, weights: await Deno.readFile(`${path}/model.safetensors`) });
      } finally {
        device.close();
      }
    }
    const [webgpu, vulkan] = runs as [typeof runs[0], typeof runs[0]];
    assert.deepEqual(vulkan.choices, webgpu.choices);
    assert.deepEqual(vulkan.weights, webgpu.weights);
    if (!hasSubgroups) return;
    for (const part of ["rmsnorm", "rmsnorm_backward", "attention_decode"]) {
      const isPart = (name: string) => name.startsWith(part) && name.endsWith(".subgroups");
      assert.ok(webgpu.names.some(isPart), `${part}: ${webgpu.names}`);
    }
  });
}, () => needs(hasVulkan, NEEDED.vulkan));

/** A step and a generation: the tokens, and every gradient and weight after the step. */
async function outcome(descriptorBytes?: number) {
  const config = {
    vocabSize: 300,
    hiddenSize: 32,
    intermediateSize: 48,
    numLayers: 2,
    numHeads: 4,
    numKvHeads: 2,
    headDim: 8,
    maxPositions: 128,
    ropeTheta: 10000,
    ropeScaling: null,
    rmsNormEps: 1e-5,
    tieWordEmbeddings: true,
  };
  const device = await createVulkanDevice({
    trace: "stamps",
    ...(descriptorBytes === undefined ? {} : { descriptorBytes }),
  });
  try {
    const weights = initWeights(config, 5, 0.2);
    const model = await CausalLM.create(device, config, weights, { trainable: "full" });
    const bench = new BenchStep(device, model, { decode: (ids) => `${ids}` });
    const promptIds = [13, 40].map((n, p) =>
      Array.from({ length: n }, (_, i) => (7 + p) * i % 300)
    );
    const requests = promptIds.map((promptIds, promptId) => ({ promptId, promptIds, n: 5 }));
    const sampling = { maxNewTokens: 9, temperature: 1, topP: 0.9, seed: 3, eosIds: [] };
    const completions = (await model.generate(requests, sampling)).flat();
    const tokens = Uint32Array.from(completions.flatMap(({ ids }) => [...ids]));
    const found = new Map<string, HostArray>([["tokens", tokens]]);
    const shape = { promptIds, completions: 4, newTokens: 9, eosIds: [], repeatPrompt: false };
    await bench.run(shape);
    for (const { name, value, grad } of model.trainable) {
      found.set(name, await device.read(value));
      found.set(`gradient of ${name}`, await device.read(grad!));
    }
    bench.dispose();
    return { found, dispatches: device.counters.dispatches, kernels: device.kernelTimes().length };
  } finally {
    device.close();
  }
}

if (isWebgpuWanted) {
  Deno.test({
    name: "tensors beyond the range of a descriptor give the bits of those within (vulkan)",
    ignore: needs(hasVulkan, NEEDED.vulkan),
    async fn() {
      const within = await outcome(), beyond = await outcome(1024);
      for (const [name, values] of within.found) {
        assert.ok(sameBits(beyond.found.get(name)!, values), name);
      }
      // They are the same kernels: nothing is done in parts.
      assert.equal(beyond.dispatches, within.dispatches);
      assert.ok(within.kernels > 20, `${within.kernels} kernels`);
    },
  });
}
