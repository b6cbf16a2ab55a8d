/**
 * Dropout of the inputs of LoRA adapters: gradients, masks that do not depend on where a row is in
 * a batch, and the expectation.
 */
import assert from "node:assert/strict";
import { refusal } from "../core/testing.ts";
import { assertWithin, largest, sameBits } from "../kernels/testing.ts";
import { dropoutKeys } from "./network/dropout.ts";
import { modulesOf } from "./architectures/mod.ts";
import type { CausalLM, CausalLMOptions } from "./causal_lm.ts";
import { assertGradientsAreSlopes } from "./finite_differences_testing.ts";
import {
  adapterSpecs,
  arrangeWeights,
  baseSpecs,
  placeLora,
} from "./network/weights/model_weights.ts";
import { packGroups } from "./network/packing.ts";
import { Parameters } from "./network/weights/parameters.ts";
import { onEachDevice } from "./each_device_testing.ts";
import {
  assertSameStep,
  gradients,
  randomModel,
  test,
  tinyConfig,
  type TrainStep,
  trainStep,
  weighted,
  withReference,
} from "./testing.ts";
import { ALL_FLOAT } from "./formats/stored_weight.ts";
import type { DropoutKey, Group } from "./network/types.ts";

const config = tinyConfig(true);
const linear = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"];
const plain = { r: 3, alpha: 6, targetModules: [...linear, "lm_head"], seed: 9 };
const options = (dropout: number, recompute = false): CausalLMOptions => ({
  trainable: "lora",
  lora: { ...plain, dropout },
  recompute,
});

const groups: Group[] = [
  {
    promptIds: [1, 2, 3, 4],
    branches: [[5, 6, 7], [8], [], [9, 10, 11, 12], [5, 6]],
    promptId: 70,
  },
  { promptIds: [14], branches: [[2, 2, 18]], promptId: 71 },
  { promptIds: [7, 7], branches: [], promptId: 72 },
];
const pairs = 13, { dlogp, dentropy, weigh } = weighted(pairs);
const key: DropoutKey = { seed: 12, pass: 1 };
const temperature = 0.8;

const step = (model: CausalLM, batch = groups, dropout: DropoutKey | undefined = key) =>
  trainStep(model, batch, { dlogp, dentropy }, dropout === undefined ? {} : { dropout });

test.onReference("with fixed masks gradients equal finite differences", async (device) => {
  const model = await randomModel(device, config, options(0.3));
  const { grads } = await step(model);
  const how = { temperature, train: false, dropout: key };
  for (const [name, grad] of grads) assert.ok(largest(grad) > 0, name);
  await assertGradientsAreSlopes(model, grads, async () => weigh(await model.forward(groups, how)));
});

Deno.test("all devices have the same masks, and a recomputed layer those of its forward", async () => {
  let expected: TrainStep | undefined;
  await onEachDevice(async (device) => {
    const found = await step(await randomModel(device, config, options(0.3)));
    assert.deepEqual(await step(await randomModel(device, config, options(0.3, true))), found);
    assertSameStep(found, expected ??= found, 1e-4, { logp: 2e-5 });
  });
});

Deno.test("p = 0 gives the same bits as an adapter without dropout", () =>
  onEachDevice(async (device) => {
    const without = await randomModel(device, config, { trainable: "lora", lora: plain });
    const expected = await step(
      without,
      groups.map(({ promptId: _, ...group }) => group),
      undefined,
    );
    assert.deepEqual(await step(await randomModel(device, config, options(0))), expected);
    assert.notDeepEqual(await step(await randomModel(device, config, options(1e-2))), expected);
  }));

test.onReference("masks belong to prompt, branch and position, however a batch is split", async (device) => {
  const model = await randomModel(device, config, options(0.3));
  const whole = await step(model);
  const part = (g: number, from: number, to: number): Group => ({
    ...groups[g]!,
    branches: groups[g]!.branches.slice(from, to),
    firstBranch: from,
  });
  // Group 0 in three parts, and the groups in another order.
  const cuts = [[part(1, 0, 1), part(0, 3, 5)], [part(0, 0, 2)], [part(0, 2, 3), part(2, 0, 0)]];
  /** Indices of a branch's tokens among all tokens. */
  const places = [[0, 3, 4, 4, 8], [10]];
  model.zeroGrad();
  for (const cut of cuts) {
    const places_ = cut.flatMap(({ branches, firstBranch = 0, promptId }) =>
      branches.flatMap((ids, b) => ids.map((_, t) => places[promptId! - 70]![firstBranch + b]! + t))
    );
    const { logp } = await model.forward(cut, { temperature, train: true, dropout: key });
    assertWithin(logp, places_.map((i) => whole.logp[i]!), 1e-12, "logp");
    const take = (values: Float64Array) => Float64Array.from(places_, (i) => values[i]!);
    model.backward(take(dlogp), take(dentropy));
  }
  for (const [name, grad] of await gradients(model)) {
    assertWithin(grad, whole.grads.get(name)!, 1e-12 * largest(grad), name);
  }
});

test.onReference("seed, pass and prompt key the masks, which stay the same in every forward", async (device) => {
  const model = await randomModel(device, config, options(0.3));
  const first = await step(model);
  assert.deepEqual(await step(model), first);
  const renumbered = groups.map((group) => ({ ...group, promptId: group.promptId! + 2 ** 32 }));
  for (
    const other of [
      await step(model, groups, { ...key, seed: 13 }),
      await step(model, groups, { ...key, pass: 0 }),
      await step(model, renumbered),
    ]
  ) {
    for (const [i, x] of first.logp.entries()) assert.ok(x !== other.logp[i], `token ${i}`);
  }
});

Deno.test("no two rows of a batch have the same key, no two modules the same site", () => {
  const batch = [...groups, { ...groups[0]!, branches: [[1, 2, 3], [3, 4]], firstBranch: 5 }];
  const { rows } = packGroups(batch, config), keys = dropoutKeys(batch, rows, 1);
  assert.equal(keys.length, 3 * rows);
  const ofRow = Array.from({ length: rows }, (_, r) => keys.subarray(3 * r, 3 * r + 3).join());
  const prompt = groups[0]!.promptIds.length;
  // The second part of a group has the same prompt rows as the first.
  assert.equal(new Set(ofRow).size, rows - prompt);
  assert.deepEqual(ofRow.slice(-3 - prompt, -3), ofRow.slice(0, prompt));
  return withReference((device) => {
    const adapter = { lora: placeLora(config, plain), saved: [] };
    const parameters = new Parameters(device, [
      ...baseSpecs(config, false, ALL_FLOAT),
      ...adapterSpecs(config, adapter, true),
    ]);
    const { layers } = arrangeWeights(parameters, config, adapter);
    const sites = layers.flatMap((layer) =>
      modulesOf(config).map((module) => layer[module].lora!.site)
    );
    assert.deepEqual(sites, Array.from({ length: 21 }, (_, i) => i));
    return Promise.resolve();
  });
});

test.onReference("nothing is dropped without a key, with the adapter off, or in generation", async (device) => {
  const model = await randomModel(device, config, options(0.5));
  const without = await randomModel(device, config, options(0));
  const off = { temperature, train: false };
  const bits = async (m: CausalLM, how: { adapter?: boolean; dropout?: DropoutKey }) =>
    (await m.forward(groups, { ...off, ...how })).logp.slice();
  assert.ok(sameBits(await bits(model, {}), await bits(without, {})));
  const adapterOff = { adapter: false, dropout: key };
  assert.ok(sameBits(await bits(model, adapterOff), await bits(without, adapterOff)));
  assert.ok(
    !sameBits(await bits(model, { dropout: key }), await bits(without, { dropout: key })),
  );
  assert.deepEqual(await model.lastLogits([1, 2]), await without.lastLogits([1, 2]));
  const requests = [{ promptId: 70, promptIds: [1, 2, 3], n: 4 }];
  const sampling = { maxNewTokens: 6, temperature: 1, seed: 12, eosIds: [] };
  assert.deepEqual(
    await model.generate(requests, sampling),
    await without.generate(requests, sampling),
  );
});

test.onReference("training with dropout is refused without the keys of its masks", async (device) => {
  const model = await randomModel(device, config, options(0.1));
  await assert.rejects(
    () => model.forward(groups, { temperature, train: true }),
    refusal(/training an adapter with lora_dropout needs the key of its masks/),
  );
  const anonymous = [groups[0]!, { promptIds: [1], branches: [[2]] }];
  await assert.rejects(step(model, anonymous), refusal(/group 1: no promptId/));
});
