/**
 * A whole run has the same bits on webgpu and vulkan with the same kernels. Its rehearsal knows all
 * the shapes that the run then has.
 */
import assert from "node:assert/strict";
import { withFolder } from "../../core/testing.ts";
import { createVulkanDevice } from "../../kernels/devices/vulkan/device.ts";
import { hasVulkan } from "../../kernels/devices/vulkan/testing.ts";
import { choicePoint } from "../../kernels/devices/webgpu/choice_points.ts";
import { createWebgpuDevice, type WebgpuDevice } from "../../kernels/devices/webgpu/device.ts";
import { webgpuTest } from "../../kernels/devices/webgpu/testing.ts";
import { NEEDED, needs } from "../../tests/skipped.ts";
import { assemble } from "../assemble.ts";
import { shortRunConfig, trainOn, varying, weightsOf } from "../testing.ts";
import { GrpoTrainer } from "../trainer.ts";

const ONE_STEP = { sft: { max_steps: 0 }, eval: { num_examples: 0 } };

/** The kernels of a run by class: where there are several, not that of the rule. */
async function kernelsOf(device: WebgpuDevice, folder: string): Promise<Record<string, string>> {
  const config = shortRunConfig(folder, ONE_STEP), parts = await assemble(config, device);
  const trainer = new GrpoTrainer({ config, configText: "", device, ...parts });
  const calls = await trainer.rehearse();
  parts.model.dispose();
  return Object.fromEntries(calls.map((call) => {
    const names = choicePoint(call.point).candidates({ ...call.scalars, ...call.tensors }, device);
    return [call.class, names[1] ?? names[0]!];
  }));
}

webgpuTest("a run with the same kernels has the same bits on webgpu and vulkan", async () => {
  await withFolder(async (folder) => {
    const runs = [];
    for (const open of [createWebgpuDevice, createVulkanDevice]) {
      const device = await open();
      try {
        device.kernelChoices = await kernelsOf(device, `${folder}/none`);
        const path = `${folder}/${device.name}`, choices = device.kernelChoices;
        const choose = device.choose.bind(device);
        device.choose = (point, args) => {
          const name = point.classOf(args, device);
          assert.ok(name === null || name in choices, `${name} was not rehearsed`);
          return choose(point, args);
        };
        await trainOn(device, shortRunConfig(path, ONE_STEP), varying);
        runs.push({ choices, weights: await weightsOf(path) });
      } finally {
        device.close();
      }
    }
    const [webgpu, vulkan] = runs as [typeof runs[0], typeof runs[0]];
    assert.deepEqual(vulkan.choices, webgpu.choices);
    assert.deepEqual(vulkan.weights, webgpu.weights);
  });
}, () => needs(hasVulkan, NEEDED.vulkan));
