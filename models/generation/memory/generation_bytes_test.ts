import assert from "node:assert/strict";
import { UsageError } from "../../../core/errors.ts";
import { CausalLM, type CausalLMOptions } from "../../causal_lm.ts";
import { initWeights } from "../../network/weights/init.ts";
import { planCacheBytes, planGenerationBytes, planLargestBuffer } from "./generation_bytes.ts";
import { planParameterBytes, refuseIfTooLarge } from "../../network/model_bytes.ts";
import { planEqualRequests, planSlots } from "./generation_slots.ts";
import { modelSizes } from "../../network/weights/model_sizes.ts";
import { packedBytes } from "../packed_weights.ts";
import { test, TINY_MODELS, tinyConfig } from "../../testing.ts";
import type { LoraOptions } from "../../network/adapters/lora.ts";
import type { ModelConfig } from "../../architectures/model_config.ts";
import type { WeightType } from "../../formats/stored_weight.ts";
import type { StorageOptions } from "../../network/weights/weight_storage.ts";

const lora = { r: 4, alpha: 8, targetModules: ["q_proj", "up_proj", "down_proj"] };
const config = { ...tinyConfig(true), maxPositions: 256 };

/** Models of the other architectures, with adapters on all modules. */
const OTHERS = TINY_MODELS.slice(2).map(([part, other]) =>
  [part, { ...other, maxPositions: 256 }] as const
);
const everywhere = { r: 4, alpha: 8, targetModules: "all-linear" };
const groups = [0, 1].map((g) => ({
  promptId: g,
  promptIds: Array.from({ length: 40 }, (_, i) => (i + g) % 19),
  branches: [[1, 2, 3], Array<number>(60).fill(4), Array<number>(50).fill(5)],
}));
const pairs = 2 * 113, rows = 2 * (40 + 2 + 59 + 49);

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
    [`LoRA with ${part}`, other, { trainable: "lora", lora: everywhere }],
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
    const { values, gradients } = planParameterBytes(model.sizes);
    assert.equal(values + gradients, device.allocatedBytes);
    assert.equal(gradients, 8 * model.trainableArenas[0]!.length);
    for (const train of [false, true]) {
      const before = device.allocatedBytes;
      device.resetPeak();
      await model.forward(groups, { temperature: 1, train, dropout: { seed: 1, pass: 1 } });
      if (train) model.backward(new Float64Array(pairs).fill(1));
      const measured = device.peakBytes - before;
      const planned = model.planBytes(rows, pairs, train);
      assert.ok(
        measured <= planned && planned <= 1.25 * measured,
        `train ${train}: planned ${planned}, measured ${measured}`,
      );
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
    const sampling = { maxNewTokens: 30, temperature: 1, seed: 1, eosIds: [] };
    await model.generate(
      groups.map(({ promptIds }, promptId) => ({ promptId, promptIds, n: 40 })),
      { ...sampling, ...(adjusted ? { repetitionPenalty: 1.1, minNewTokens: 5 } : {}) },
    );
    const measured = device.peakBytes - before;
    const generation = { promptRows: 80, branches: 80, maxNewTokens: 30, adjusted };
    const planned = planGenerationBytes(model.sizes, generation) + packedBytes(model.sizes);
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
  const generation = { promptRows: 480, passRows: 40, branches: 24, maxNewTokens: 12 };
  const planned = planGenerationBytes(model.sizes, generation) + packedBytes(model.sizes);
  assert.ok(measured <= planned && planned <= 1.25 * measured, `${planned}, not ${measured}`);
  const whole = planGenerationBytes(model.sizes, { ...generation, passRows: 480 });
  assert.ok(whole > 1.25 * planned, `${whole} at once`);
});

Deno.test("a generation respects the largest buffer of a device", () => {
  const sizes = modelSizes(config, { trainable: "none", storage: new Map() });
  const requests = Array.from({ length: 200 }, () => ({ n: 1, promptIds: { length: 40 } }));
  const slots = (largestBuffer: number) => {
    const limits = { bytes: 2 ** 30, largestBuffer, maxSlots: Infinity, prefillRows: 1024 };
    return planSlots(sizes, requests, { maxNewTokens: 60, adjusted: false }, limits);
  };
  const all = slots(Infinity), half = planLargestBuffer(sizes, all) / 2, some = slots(half);
  assert.equal(all.branches, 200);
  assert.ok(some.branches > 50 && some.branches < 150, `${some.branches}`);
  assert.ok(planLargestBuffer(sizes, some) <= half);
});

Deno.test("the plan for equal requests equals that for a list of them", () => {
  const sizes = modelSizes(config, { trainable: "none", storage: new Map() });
  for (const prompts of [1, 2, 7, 40]) {
    for (const each of [1, 2, 3, 8]) {
      for (const maxSlots of [1, 5, 16, 1000]) {
        for (const [length, prefillRows] of [[1, 8], [40, 64], [33, 1000]] as const) {
          const requests = Array.from({ length: prompts }, () => ({
            n: each,
            promptIds: { length },
          }));
          const limits = { bytes: Infinity, largestBuffer: Infinity, maxSlots, prefillRows };
          const { promptRows, passRows, branches } = planSlots(
            sizes,
            requests,
            { maxNewTokens: 9, adjusted: false },
            limits,
          );
          assert.deepEqual(
            planEqualRequests(sizes, { prompts, each, length }, limits),
            { promptRows, passRows, branches },
            JSON.stringify({ prompts, each, maxSlots, length, prefillRows }),
          );
        }
      }
    }
  }
});

Deno.test("packed keys of prompts are planned only when all layers are float", () => {
  const generation = { promptRows: 80, branches: 8, maxNewTokens: 30 };
  const caches = (storage: [string, WeightType][], lora?: LoraOptions) => {
    const options = lora === undefined ? {} : { lora };
    const sizes = { trainable: "none", storage: new Map(storage), ...options } as const;
    return planCacheBytes(modelSizes(config, sizes), generation);
  };
  const twice = caches([]), name = "model.layers.1.mlp.up_proj.weight";
  const keys = config.numLayers * 4 * 80 * config.numKvHeads * config.headDim;
  const once = caches([[name, "f16"]]);
  assert.ok(twice - once >= keys, `${twice} bytes with packed keys, ${once} without`);
  assert.equal(caches([["model.embed_tokens.weight", "f16"]]), twice);
  // A card has no packed keys.
  const sizes = modelSizes(config, { trainable: "none", storage: new Map() });
  const card = { software: true, matrixUnits: null };
  assert.ok(twice - planCacheBytes({ ...sizes, card }, generation) >= keys);
});

Deno.test("sizes need no device, and recomputation changes only one of them", () => {
  const of = (options: CausalLMOptions) => modelSizes(config, options);
  const kept = of({ trainable: "lora", lora }),
    again = of({
      trainable: "lora",
      lora,
      recompute: true,
    });
  assert.deepEqual({ ...kept, recompute: true }, again);
  assert.equal(kept.lora.length, 9);
  assert.throws(() => of({ trainable: "lora", lora: { ...lora, r: 0 } }), /rank r/);
});

Deno.test("work that does not fit is refused with advice", () => {
  refuseIfTooLarge("training", 8e9, 8e9, []);
  assert.throws(
    () =>
      refuseIfTooLarge("training", 11.2e9, 8.04e9, [
        "gradient_checkpointing: true",
        "a smaller per_device_train_batch_size",
      ]),
    (e) =>
      e instanceof UsageError && e.message === "training needs 11.2 GB, 8.04 GB available" &&
      e.advice ===
        "set gradient_checkpointing: true or a smaller per_device_train_batch_size",
  );
});
