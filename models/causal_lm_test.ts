import assert from "node:assert/strict";
import { RgxError, UsageError } from "../core/errors.ts";
import { refusal } from "../core/testing.ts";
import { largest } from "../kernels/testing.ts";
import { initWeights } from "./network/weights/init.ts";
import { CausalLM, type CausalLMOptions } from "./causal_lm.ts";
import { assertGradientsAreSlopes } from "./finite_differences_testing.ts";
import {
  assertSameStep,
  gradients,
  randomModel,
  test,
  TINY_MODELS,
  tinyConfig,
  type TrainStep,
  trainStep,
  weighted,
} from "./testing.ts";
import type { Group } from "./network/types.ts";

const lora = { r: 3, alpha: 6, targetModules: "all-linear", seed: 9 } as const;
const FULL: CausalLMOptions = { trainable: "full" };
const LORA: CausalLMOptions = { trainable: "lora", lora };

const groups: Group[] = [
  { promptIds: [1, 2, 3, 4], branches: [[5, 6, 7], [8], [], [9, 10, 11, 12, 13], [5, 6]] },
  { promptIds: [14], branches: [[2, 2, 18]] },
  { promptIds: [7, 7], branches: [] },
];
const pairs = 14;
const { dlogp, dentropy, weigh } = weighted(pairs);
const temperature = 0.8;

async function objective(model: CausalLM, batch: readonly Group[] = groups): Promise<number> {
  return weigh(await model.forward(batch, { temperature, train: false }));
}

for (const [kind, options] of [["full", FULL], ["LoRA", LORA]] as const) {
  for (const [part, config] of TINY_MODELS) {
    const what = `${kind} fine-tuning with ${part}`;

    test.onReference(`a step has the slopes of its values, in any division, ${what}`, async (device) => {
      const model = await randomModel(device, config, options);
      const together = await trainStep(model, groups, { dlogp, dentropy });
      await assertGradientsAreSlopes(model, together.grads, () => objective(model));
      // One sequence after the other.
      model.zeroGrad();
      const alone: TrainStep[] = [];
      let at = 0;
      for (const { promptIds, branches } of groups) {
        for (const branch of branches) {
          const part = { promptIds, branches: [branch] }, end = at + branch.length;
          const { logp, entropy } = await model.forward([part], { temperature, train: true });
          model.backward(dlogp.slice(at, end), dentropy.slice(at, end));
          alone.push({ logp, entropy, grads: await gradients(model) });
          at = end;
        }
      }
      const [logp, entropy] = (["logp", "entropy"] as const).map((key) =>
        Float64Array.from(alone.flatMap((step) => [...step[key]]))
      );
      const { grads } = alone.at(-1)!, bounds = { logp: 1e-12, least: 1e-6 };
      assertSameStep({ logp: logp!, entropy: entropy!, grads }, together, 1e-12, bounds);
      const again = await randomModel(device, config, { ...options, recompute: true });
      assert.deepEqual(await trainStep(again, groups, { dlogp, dentropy }), together);
      for (const one of [model, again]) one.dispose();
      assert.equal(device.allocatedBytes, 0);
    });
  }
}

test.onReference("trainable values and gradients are in one arena, decayed ones first", async (device) => {
  const model = await randomModel(device, tinyConfig(true), FULL);
  const arena = model.trainableArenas[0]!;
  for (const { name, decay, shape, value } of model.trainable) {
    const offset = arena.offsets.get(name)!;
    assert.equal(decay, shape.length === 2, name);
    assert.equal(offset < arena.decayedLength, decay, name);
    assert.equal(offset % 64, 0);
    assert.deepEqual(
      await device.read(arena.value!, offset, value.length),
      await device.read(value),
    );
  }
  await model.forward(groups, { temperature, train: true });
  model.backward(dlogp);
  assert.ok(largest(await device.read(arena.grad)) > 0);
  model.zeroGrad();
  assert.equal(largest(await device.read(arena.grad)), 0);
});

test.onReference("memory stays constant over batches of varying size after the largest", async (device) => {
  const model = await randomModel(device, tinyConfig(true), LORA);
  const step = async (batch: readonly Group[]) => {
    const { logp } = await model.forward(batch, { temperature, train: true });
    model.backward(new Float64Array(logp.length).fill(1));
    await model.forward(batch, { temperature, train: false });
  };
  await step(groups);
  const { allocatedBytes } = device;
  device.resetPeak();
  for (let i = 1; i < 6; i++) {
    await step([{ promptIds: [1, 2, 3].slice(0, 1 + i % 3), branches: [[4, 5], [6]] }]);
    await step(groups);
  }
  assert.equal(device.allocatedBytes, allocatedBytes);
  assert.equal(device.peakBytes, allocatedBytes);
});

test.onReference("a batch with nothing to predict gives nothing and changes nothing", async (device) => {
  const model = await randomModel(device, tinyConfig(true), FULL);
  const none = await model.forward([{ promptIds: [1], branches: [[]] }], {
    temperature,
    train: true,
  });
  assert.equal(none.logp.length + none.entropy.length, 0);
  model.backward(new Float64Array(0));
  assert.equal(largest(await device.read(model.trainableArenas[0]!.grad)), 0);
});

test.onReference("an inference forward may come between a training forward and its backward", async (device) => {
  const model = await randomModel(device, tinyConfig(true), FULL);
  await model.forward(groups, { temperature, train: true });
  model.backward(dlogp, dentropy);
  const expected = await gradients(model);
  model.zeroGrad();
  await model.forward(groups, { temperature, train: true });
  const long = Array.from({ length: 30 }, (_, i) => i % 19);
  await model.forward([{ promptIds: long, branches: [[1, 2]] }], { temperature, train: false });
  await model.lastLogits(long);
  model.backward(dlogp, dentropy);
  assert.deepEqual(await gradients(model), expected);
});

test.onReference("a sequence as long as the model's positions has logits at each of them", async (device) => {
  for (const [part, config] of TINY_MODELS) {
    const model = await randomModel(device, config, { trainable: "none" });
    const ids = Array.from({ length: config.maxPositions }, (_, i) => i % config.vocabSize);
    const seen: number[] = [];
    await model.positionLogits(ids, (position, logits) => {
      seen.push(position);
      assert.ok(logits.every(Number.isFinite), `${part}, position ${position}`);
    });
    assert.deepEqual(seen, ids.map((_, i) => i));
    await assert.rejects(model.lastLogits([...ids, 1]), /the model has/);
  }
});

test.onReference("wrong uses of a model are refused with an explanation", async (device) => {
  const config = tinyConfig(true), weights = initWeights(config, 1, 0.4);
  const refused = (work: () => Promise<unknown>, kind: typeof RgxError, text: RegExp) =>
    assert.rejects(work, refusal(text, kind));
  const create = (options: CausalLMOptions, source = weights) => () =>
    CausalLM.create(device, config, source, options);
  await refused(create({ trainable: "lora" }), UsageError, /needs LoRA options/);
  await refused(create({ trainable: "full", lora }), UsageError, /exclude each other/);
  await refused(
    create({ trainable: "lora", lora: { ...lora, dropout: 1 } }),
    UsageError,
    /lora_dropout .* got 1/,
  );
  await refused(
    create({ trainable: "lora", lora: { ...lora, targetModules: ["lm_haed"] } }),
    UsageError,
    /"lm_haed" is no linear module of this model/,
  );
  const without = new Map(weights);
  without.delete("model.layers.1.mlp.up_proj.weight");
  await refused(create(FULL, without), RgxError, /no tensor "model.layers.1.mlp.up_proj.weight"/);
  const short = new Map(weights).set("model.norm.weight", new Float32Array(3));
  await refused(
    create(FULL, short),
    RgxError,
    /"model.norm.weight": found 3 values, expected 12/,
  );

  const model = await CausalLM.create(device, config, weights, { trainable: "none" });
  const train = { temperature, train: true };
  await refused(() => model.forward(groups, train), RgxError, /nothing .* is trainable/);
  assert.throws(() => model.backward(dlogp), /no forward with train/);
  await refused(
    () => model.forward(groups, { temperature: 0, train: false }),
    RgxError,
    /temperature is 0/,
  );
  await assert.rejects(
    () => Promise.resolve().then(() => model.readParameter("model.norm.weigth")),
    /no tensor "model.norm.weigth"/,
  );
  const full = await CausalLM.create(device, config, weights, FULL);
  await full.forward(groups, train);
  assert.throws(() => full.backward(new Float64Array(3)), /dlogp has 3 elements, the batch 14/);
});
