/**
 * The plan of a card's memory beside what a run allocates there. The run is only rehearsed: tensors
 * are created, and nothing is computed.
 */
import assert from "node:assert/strict";
import { withFolder } from "../../core/testing.ts";
import { createWebgpuDevice } from "../../kernels/devices/webgpu/device.ts";
import { webgpuTest } from "../../kernels/devices/webgpu/testing.ts";
import { goldenPath } from "../../tests/golden.ts";
import { assemble } from "../assemble.ts";
import { tinyRunConfig } from "../testing.ts";
import { GrpoTrainer } from "../trainer.ts";

const SMALL_MODEL = goldenPath("models/tinystories-656k");

for (
  const { completions, length } of [{ completions: 8, length: 96 }, {
    completions: 32,
    length: 200,
  }]
) {
  webgpuTest(
    `the peak on a card is within 10 % of the plan, ${completions} completions of ${length} tokens`,
    () =>
      withFolder(async (dir) => {
        const config = tinyRunConfig(`${dir}/run`, {
          sft: null,
          model: { init: null, model_name_or_path: SMALL_MODEL },
          lora: { r: 16, lora_alpha: 32, target_modules: "all-linear" },
          training: {
            per_device_train_batch_size: completions,
            num_generations: completions,
            max_completion_length: length,
          },
        });
        using device = await createWebgpuDevice();
        const parts = await assemble(config, device);
        const trainer = new GrpoTrainer({
          config,
          configText: "",
          device,
          ...parts,
        });
        // The second time, the tensors of the generation are there while a pass runs.
        for (let i = 0; i < 2; i++) await trainer.rehearse();
        // A checkpoint is on the host, and the moments are made by the first step.
        const { peak, parts: { checkpoint, optimizer } } = parts.memory;
        const ratio = device.peakBytes / (peak - checkpoint - optimizer);
        assert.ok(ratio > 0.9 && ratio <= 1, `${ratio} of ${peak} bytes`);
        parts.model.dispose();
      }),
  );
}
