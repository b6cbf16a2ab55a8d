/**
 * Whole runs with `lora.lora_dropout` and `training.disable_dropout`.
 */
import assert from "node:assert/strict";
import { readSafetensors } from "../models/formats/safetensors/safetensors.ts";
import {
  type ConfigChanges,
  metricsWithoutClock,
  tinyRunConfig,
  trainOn,
  varying,
  withWasm,
} from "./testing.ts";
import { tinyModelFolder } from "./tiny_model_testing.ts";

/** Trains the tiny model; returns the metrics and the written adapter. */
async function runs(
  work: (run: (name: string, changes?: Changes) => Promise<Outcome>, dir: string) => Promise<void>,
): Promise<void> {
  await withWasm(async (device, dir) => {
    await tinyModelFolder(`${dir}/model`);
    await work(async (name, { lora, training, ...changes } = {}) => {
      const path = `${dir}/${name}`;
      const config = tinyRunConfig(path, {
        sft: null,
        eval: { num_examples: 0 },
        lora: {
          r: 2,
          lora_alpha: 4,
          lora_dropout: 0,
          target_modules: ["q_proj", "down_proj"],
          use_rslora: false,
          ...lora,
        },
        model: { init: null, model_name_or_path: `${dir}/model` },
        training: { max_steps: 2, learning_rate: 1e-2, ...training },
        ...changes,
      });
      await trainOn(device, config, varying);
      const weights = await readSafetensors(`${path}/adapter_model.safetensors`);
      const values: number[] = [];
      for (const tensor of weights.tensors.keys()) values.push(...await weights.float32(tensor));
      const adapter = JSON.parse(await Deno.readTextFile(`${path}/adapter_config.json`));
      return { values, metrics: await metricsWithoutClock(path), adapter };
    }, dir);
  });
}

type Changes = Omit<ConfigChanges, "lora"> & { lora?: { lora_dropout: number } };

interface Outcome {
  values: number[];
  metrics: Record<string, unknown>[];
  adapter: { lora_dropout: number };
}

const WARM_START = {
  max_steps: 2,
  per_device_train_batch_size: 4,
  learning_rate: 1e-2,
  weight_decay: 0,
  max_grad_norm: 1,
};

Deno.test("lora_dropout acts in GRPO and the warm start, and is written with the adapter", () =>
  runs(async (run) => {
    const lora = { lora_dropout: 0.05 };
    const without = await run("without"), dropped = await run("dropped", { lora });
    assert.equal(without.adapter.lora_dropout, 0);
    assert.equal(dropped.adapter.lora_dropout, 0.05);
    assert.notDeepEqual(dropped.values, without.values);
    assert.deepEqual((await run("again", { lora })).values, dropped.values);
    const other = await run("other", { lora, training: { seed: 4 } });
    assert.notDeepEqual(other.values, dropped.values);

    const warm = { ...WARM_START, lr_scheduler_type: "constant", warmup_steps: 0 } as const;
    const losses = async (name: string, changes: Changes) =>
      (await run(name, { sft: warm, ...changes })).metrics
        .filter((line) => line.split === "sft").map((line) => line.loss as number);
    const plain = await losses("warm", {}), masked = await losses("warm dropped", { lora });
    // B begins at 0: the loss of the first step is the same, but not its gradient, and so not the
    // second loss.
    assert.equal(masked.length, 2);
    assert.equal(masked[0], plain[0]);
    assert.notEqual(masked[1], plain[1]);
  }));

Deno.test("disable_dropout gives the same bits as no dropout", () =>
  runs(async (run) => {
    const lora = { lora_dropout: 0.5 };
    const without = await run("without");
    const disabled = await run("disabled", { lora, training: { disable_dropout: true } });
    assert.deepEqual(disabled.values, without.values);
    assert.deepEqual(disabled.metrics, without.metrics);
    assert.equal(disabled.adapter.lora_dropout, 0.5);
  }));

Deno.test("an adapter that is trained further has the dropout of the new configuration", () =>
  runs(async (run, dir) => {
    await run("first", { lora: { lora_dropout: 0.5 } });
    const model = { init: null, model_name_or_path: `${dir}/first` };
    const lora = { lora_dropout: 0.1 };
    const without = await run("without", { model }),
      dropped = await run("dropped", { model, lora });
    assert.equal(without.adapter.lora_dropout, 0);
    assert.equal(dropped.adapter.lora_dropout, 0.1);
    assert.notDeepEqual(dropped.values, without.values);
  }));
