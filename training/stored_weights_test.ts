/**
 * Whole runs on a base model whose frozen weights are quantised when they are loaded: the adapter
 * learns, and the run is reproducible.
 */
import assert from "node:assert/strict";
import { test } from "../core/testing.ts";
import { createDevice } from "../kernels/mod.ts";
import { metricsWithoutClock, tinyRunConfig, trainOn, varying } from "./testing.ts";
import { goldenPath } from "../tests/golden.ts";

const MODEL = goldenPath("models/tinystories-656k");

const BITS = [["8 bits", { load_in_8bit: true }], ["4 bits", { load_in_4bit: true }]] as const;

for (const [what, quantisation] of BITS) {
  test.inFolder(`an adapter on a base in ${what} trains, samples from itself, and is reproducible`, async (dir) => {
    const run = async (name: string) => {
      using device = await createDevice("wasm", { threads: 2 });
      const config = tinyRunConfig(`${dir}/${name}`, {
        sft: null,
        model: {
          init: null,
          model_name_or_path: MODEL,
          dtype: "bfloat16",
          ...quantisation,
        },
        lora: { r: 8, lora_alpha: 16, target_modules: "all-linear" },
        training: {
          max_steps: 3,
          per_device_train_batch_size: 8,
          num_generations: 8,
          learning_rate: 1e-3,
          max_completion_length: 16,
        },
      });
      return await trainOn(device, config, { ...varying, eosIds: [] });
    };
    const { summary } = await run("a");
    const planned = summary.memory_planned_bytes!;
    assert.ok(summary.peak_memory_bytes <= 1.001 * planned, `${summary.peak_memory_bytes}`);
    const steps = await metricsWithoutClock(`${dir}/a`, "train");
    assert.equal(steps.length, 3);
    for (const step of steps) {
      assert.ok(Number(step["grad_norm"]) > 0, JSON.stringify(step));
      assert.ok(Number(step["sampling/sampling_logp_difference/max"]) < 1e-3, JSON.stringify(step));
    }
    await run("b");
    const file = "adapter_model.safetensors";
    const [a, b] = await Promise.all(
      ["a", "b"].map((r) => Deno.readFile(`${dir}/${r}/${file}`)),
    );
    assert.deepEqual(a, b);
  });
}
