import assert from "node:assert/strict";
import { createWasmDevice } from "../../../kernels/devices/wasm/device.ts";
import { CausalLM, type CausalLMOptions } from "../../causal_lm.ts";
import { initWeights } from "../../network/weights/init.ts";
import { countGeneration, packedBytes } from "./counted_generation.ts";
import { parameterBytes } from "../../network/counted_network.ts";
import { planDialogues, planSlots } from "./generation_slots.ts";
import { modelSizes } from "../../network/weights/model_sizes.ts";
import { countedBytes, randomModel, test, TINY_MODELS, tinyConfig } from "../../testing.ts";
import type { LoraOptions } from "../../network/adapters/lora.ts";
import type { ModelConfig } from "../../architectures/model_config.ts";
import type { WeightType } from "../../formats/stored_weight.ts";
import type { StorageOptions } from "../../network/weights/weight_storage.ts";

const lora = { r: 4, alpha: 8, targetModules: ["q_proj", "up_proj", "down_proj", "lm_head"] };
const config = { ...tinyConfig(true), maxPositions: 256 };

/** Models of the other architectures, with adapters on all modules. */
const OTHERS = TINY_MODELS.slice(2).map(([part, other]) =>
  [part, { ...other, maxPositions: 256 }] as const
);
const everywhere = { r: 4, alpha: 8, targetModules: "all-linear" };
const groups = [0, 1].map((g) => ({
  promptId: g,
  promptIds: Array.from({ length: 40 }, (_, i) => (i + g) % 19),
  branches: [[1, 2, 3], Array<number>(20).fill(4), Array<number>(10).fill(5)],
}));
const pairs = 2 * 33;

const KINDS: [string, ModelConfig, CausalLMOptions][] = [
  ["full fine-tuning", config, { trainable: "full" }],
  ["LoRA", config, { trainable: "lora", lora }],
  ["LoRA, recomputing", config, { trainable: "lora", lora, recompute: true }],
  ["LoRA on weights in halves", config, {
    trainable: "lora",
    lora,
    weights: { dtype: "bfloat16" },
  }],
  ["LoRA with dropout", config, { trainable: "lora", lora: { ...lora, dropout: 0.1 } }],
  ...OTHERS.flatMap(([part, other]): [string, ModelConfig, CausalLMOptions][] => [
    [`full fine-tuning with ${part}`, other, { trainable: "full" }],
    [`LoRA with ${part}, recomputing`, other, {
      trainable: "lora",
      lora: everywhere,
      recompute: true,
    }],
  ]),
];

for (const [kind, config, options] of KINDS) {
  test.onReference(`planned memory is what a training step takes, ${kind}`, async (device) => {
    const model = await CausalLM.create(device, config, initWeights(config, 1, 0.1), options);
    const { values, gradients } = parameterBytes(model.sizes);
    assert.equal(values + gradients, device.allocatedBytes);
    assert.equal(gradients, 8 * model.trainableArenas[0]!.length);
    const before = device.allocatedBytes;
    const passes = async (model: CausalLM, last: boolean) => {
      for (const train of last ? [false, true] : [false]) {
        await model.forward(groups, { temperature: 1, train, dropout: { seed: 1, pass: 1 } });
        if (train) model.backward(new Float64Array(pairs).fill(1));
      }
    };
    for (const last of [false, true]) {
      await passes(model, last);
      const counted = await countedBytes(model, (model) => passes(model, last));
      assert.equal(counted, device.peakBytes - before);
    }
  });
}

const GENERATIONS: [string, ModelConfig, LoraOptions, adjusted: boolean, StorageOptions?][] = [
  ["", config, lora, false],
  [" on weights in halves", config, everywhere, false, { dtype: "float16" }],
  [
    " with a copy of the head on weights in halves",
    config,
    { ...everywhere, modulesToSave: ["lm_head"] },
    false,
    { dtype: "float16" },
  ],
  [" with a penalty", config, lora, true],
  ...OTHERS.map(([part, other]): [string, ModelConfig, LoraOptions, boolean] => [
    ` with ${part}`,
    other,
    everywhere,
    false,
  ]),
];

for (const [how, config, lora, adjusted, weights = {}] of GENERATIONS) {
  test.onReference(`planned memory is what generation takes${how}`, async (device) => {
    const options: CausalLMOptions = { trainable: "lora", lora, weights };
    const model = await CausalLM.create(device, config, initWeights(config, 1, 0.1), options);
    const before = device.allocatedBytes;
    const sampling = { maxNewTokens: 16, temperature: 1, seed: 1, eosIds: [] };
    await model.generate(
      groups.map(({ promptIds }, promptId) => ({ promptId, promptIds, n: 16 })),
      { ...sampling, ...(adjusted ? { repetitionPenalty: 1.1, minNewTokens: 5 } : {}) },
    );
    const measured = device.peakBytes - before;
    const generation = { promptRows: 96, passRows: 80, branches: 32, maxNewTokens: 16, adjusted };
    const { bytes } = await countGeneration(model.sizes, generation);
    const planned = bytes + packedBytes(model.sizes);
    assert.ok(
      measured <= planned && planned <= 1.25 * measured,
      `planned ${planned}, measured ${measured}`,
    );
  });
}

test.onReference("the plan counts prompts that are prefilled a few at a time", async (device) => {
  const model = await CausalLM.create(device, config, initWeights(config, 1, 0.1), {
    trainable: "none",
  });
  const before = device.allocatedBytes;
  const requests = Array.from({ length: 12 }, (_, promptId) => ({
    promptId,
    promptIds: groups[promptId % 2]!.promptIds,
    n: 2,
  }));
  const sampling = { maxNewTokens: 12, temperature: 1, seed: 1, eosIds: [] };
  await model.generate(requests, sampling, { prefillRows: 40 });
  const measured = device.peakBytes - before;
  const generation = { promptRows: 576, passRows: 40, branches: 24, maxNewTokens: 12 };
  const { bytes } = await countGeneration(model.sizes, generation);
  const planned = bytes + packedBytes(model.sizes);
  assert.ok(measured <= planned && planned <= 1.25 * measured, `${planned}, not ${measured}`);
  const whole = await countGeneration(model.sizes, { ...generation, passRows: 480 });
  assert.ok(whole.bytes > 1.25 * planned, `${whole.bytes} at once`);
});

test.onReference("the plan counts the prompts of dialogues at their full lengths", async (device) => {
  const model = await CausalLM.create(device, config, initWeights(config, 1, 0.1), {
    trainable: "none",
  });
  const before = device.allocatedBytes;
  const room = { prompts: Array(12).fill(10), tokens: 40, turnTokens: 8 };
  const sampling = { maxNewTokens: 8, temperature: 1, seed: 1, eosIds: [] };
  await model.generateDialogues(room, sampling, async (ask) => {
    await Promise.all(room.prompts.map(async (_, promptId) => {
      let promptIds = Array(10).fill(promptId);
      for (let position = 0; position < 40; position += 8) {
        const [answer] = await ask({ promptId, promptIds, n: 1, firstPosition: position });
        promptIds = [...promptIds, ...answer!.ids];
      }
    }));
  });
  const measured = device.peakBytes - before;
  const limits = { bytes: 2 ** 30, largestBuffer: Infinity, maxSlots: 12, prefillRows: 1024 };
  const plan = await planDialogues(model.sizes, room, {}, limits);
  const planned = (await countGeneration(model.sizes, plan)).bytes + packedBytes(model.sizes);
  // All prompts may have to be computed in one pass.
  assert.ok(measured <= planned && planned <= 1.75 * measured, `${planned}, not ${measured}`);
  // With less memory there is less room for what may be needed again, but for one dialogue.
  const small = await planDialogues(model.sizes, room, {}, { ...limits, bytes: planned / 2 });
  assert.ok((await countGeneration(model.sizes, small)).bytes <= planned / 2);
  assert.ok(
    (await planDialogues(model.sizes, room, {}, { ...limits, bytes: 1 })).promptRows >= 49,
  );
});

Deno.test("a prompt of 2,048 tokens with 64 branches is in the cache once", async () => {
  const long = { ...config, maxPositions: 4096 }, peaks: number[] = [];
  const promptIds = Array.from({ length: 2048 }, (_, i) => i % 19);
  for (const n of [1, 64]) {
    const device = await createWasmDevice({ threads: 1 });
    const model = await randomModel(device, long, { trainable: "none" });
    const sampling = { maxNewTokens: 3, temperature: 1, seed: 1, eosIds: [] };
    await model.generate([{ promptId: 0, promptIds, n }], sampling);
    peaks.push(device.peakBytes);
    device.close();
  }
  const keys = 4 * 2 * long.numLayers * 2048 * long.numKvHeads * long.headDim;
  assert.ok(peaks[1]! - peaks[0]! < keys / 2, `${peaks} bytes, ${keys} of a prompt`);
});

Deno.test("a generation respects the largest buffer of a device", async () => {
  const sizes = modelSizes(config, { trainable: "none", storage: new Map() });
  const requests = Array.from({ length: 200 }, () => ({ n: 1, promptIds: { length: 40 } }));
  const slots = (largestBuffer: number) => {
    const limits = { bytes: 2 ** 30, largestBuffer, maxSlots: Infinity, prefillRows: 1024 };
    return planSlots(sizes, requests, { maxNewTokens: 60, adjusted: false }, limits);
  };
  const all = await slots(Infinity), half = (await countGeneration(sizes, all)).largest / 2;
  const some = await slots(half);
  assert.equal(all.branches, 200);
  assert.ok(some.branches > 50 && some.branches < 150, `${some.branches}`);
  assert.ok((await countGeneration(sizes, some)).largest <= half);
});

Deno.test("packed keys of prompts are planned only when all layers are float", async () => {
  const generation = { promptRows: 80, branches: 8, maxNewTokens: 30 };
  const caches = async (storage: [string, WeightType][]) => {
    const sizes = modelSizes(config, { trainable: "none", storage: new Map(storage) });
    return (await countGeneration(sizes, generation)).bytes;
  };
  const twice = await caches([]), name = "model.layers.1.mlp.up_proj.weight";
  const keys = config.numLayers * 4 * 80 * config.numKvHeads * config.headDim;
  const once = await caches([[name, "f16"]]);
  assert.ok(twice - once >= keys, `${twice} bytes with packed keys, ${once} without`);
  assert.equal(await caches([["model.embed_tokens.weight", "f16"]]), twice);
  // A card has no packed keys.
  const sizes = modelSizes(config, { trainable: "none", storage: new Map() });
  const card = { software: true, matrixUnits: null };
  assert.ok(twice - (await countGeneration({ ...sizes, card }, generation)).bytes >= keys);
});
