/**
 * Whole runs on a base model whose frozen weights are quantised when they are loaded: the adapter
 * learns, and the run is reproducible.
 */
import assert from "node:assert/strict";
import { withFolder } from "../core/testing.ts";
import { createDevice } from "../kernels/mod.ts";
import { tinyRunConfig, trainOn, VARYING_RUBRIC } from "./testing.ts";
import { goldenPath } from "../tests/golden.ts";

const MODEL = goldenPath("models/tinystories-656k");

const BITS = [
  ["8 bits", { load_in_8bit: true }],
  ["4 bits", { load_in_4bit: true }],
] as const;

for (const [what, quantisation] of BITS) {
  Deno.test({
    name: `an adapter on a base in ${what} trains, samples from itself, and is reproducible`,
    fn: () =>
      withFolder(async (dir) => {
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
          return await trainOn(device, config, { rubric: VARYING_RUBRIC, eosIds: [] });
        };
        const { summary } = await run("a");
        const planned = summary.memory_planned_bytes!;
        assert.ok(summary.peak_memory_bytes <= 1.001 * planned, `${summary.peak_memory_bytes}`);
        const text = await Deno.readTextFile(`${dir}/a/metrics.jsonl`);
        const steps = text.trim().split("\n").map((line) => JSON.parse(line))
          .filter(({ split }) => split === "train");
        assert.equal(steps.length, 3);
        for (const step of steps) {
          assert.ok(step.grad_norm > 0, JSON.stringify(step));
          assert.ok(step["sampling/sampling_logp_difference/max"] < 1e-3, JSON.stringify(step));
        }
        await run("b");
        const file = "adapter_model.safetensors";
        const [a, b] = await Promise.all(
          ["a", "b"].map((r) => Deno.readFile(`${dir}/${r}/${file}`)),
        );
        assert.deepEqual(a, b);
      }),
  });
}
