/** Models whose matrices are trained in bfloat16, and frozen copies of models that are trained. */
import assert from "node:assert/strict";
import { narrowBF16, widenBF16 } from "../core/half_floats.ts";
import { assertWithin } from "../kernels/testing.ts";
import { CausalLM } from "./causal_lm.ts";
import { isEmulated, onEachDevice } from "./each_device_testing.ts";
import { initWeights } from "./network/weights/init.ts";
import {
  assertSameStep,
  countedBytes,
  randomModel,
  TINY_MODELS,
  tinyConfig,
  trainStep,
  withReference,
} from "./testing.ts";

const GROUPS = [{ promptIds: [1, 2, 3], branches: [[4, 5], [6]] }];
const PASS = { temperature: 0.9, train: false };
const step = (model: CausalLM) =>
  trainStep(model, GROUPS, { dlogp: Float64Array.of(1, -0.5, 0.25) }, { temperature: 0.9 });
const HALVES = { trainable: "full", weights: { dtype: "bfloat16" } } as const;

const even = ([, { hiddenSize, intermediateSize }]: typeof TINY_MODELS[number]) =>
  hiddenSize % 2 === 0 && intermediateSize % 2 === 0;

Deno.test("gradients of weights in bfloat16 are those of the same values in floats", () =>
  onEachDevice(async (device, exact) => {
    const held = device.allocatedBytes;
    const models = TINY_MODELS.filter(even);
    for (const [name, config] of isEmulated(device) ? models.slice(0, 2) : models) {
      const halves = await randomModel(device, config, HALVES);
      const floats = await randomModel(device, config, { trainable: "full" });
      for (const { name } of floats.trainable) {
        floats.writeParameter(name, await halves.readParameter(name));
      }
      const [half, float] = [await step(halves), await step(floats)], bound = exact ? 1e-12 : 2e-5;
      assertSameStep(half, float, bound, { logp: 10 * bound, what: `${name} on ${device.name}` });
      for (const model of [halves, floats]) model.dispose();
      assert.equal(device.allocatedBytes, held);
    }
  }));

for (const [what, writable] of [["frozen", false], ["writable", true]] as const) {
  Deno.test(`a ${what} copy keeps the values while the model is trained`, () =>
    onEachDevice(async (device) => {
      const start = device.allocatedBytes;
      const config = tinyConfig(true), weights = initWeights(config, 5, 0.4);
      const rounded = new Map(Array.from(weights, ([name, values]) => {
        const kept = name.includes("up_proj") ? values : widenBF16(narrowBF16(values));
        return [name, Float32Array.from(kept)];
      }));
      const model = await CausalLM.create(device, config, rounded, { trainable: "full" });
      const before = (await model.forward(GROUPS, PASS)).logp;
      const storage = new Map(
        model.trainable.filter(({ shape }) => shape.length === 2).map(({ name }) =>
          [name, "bf16"] as const
        ),
      );
      const held = device.allocatedBytes;
      const copy = await model.frozenCopy({ storage, writable });
      const taken = device.allocatedBytes - held;
      for (const { name, storage, shape } of copy.parameters) {
        const isHalf = !writable && shape.length === 2 && !name.includes("up_proj");
        assert.equal(storage, isHalf ? "bf16" : null, name);
        assert.deepEqual(await copy.readParameter(name), rounded.get(name), name);
      }
      const types = new Map(
        copy.parameters.flatMap(({ name, storage }) => storage === null ? [] : [[name, storage]]),
      );
      const counted = await countedBytes(
        model,
        (model) => model.frozenCopy({ storage: types, writable, empty: true }),
      );
      assert.equal(counted, taken);
      for (const { name, shape } of model.trainable) {
        model.writeParameter(name, new Float32Array(shape.reduce((a, b) => a * b)).fill(0.1));
      }
      const after = (await copy.forward(GROUPS, PASS)).logp;
      assertWithin(after, before, 2e-5, `logp on ${device.name}`);
      for (const it of [model, copy]) it.dispose();
      assert.equal(device.allocatedBytes, start);
    }));
}

Deno.test("trained values are divided into arenas that the device can hold", () =>
  withReference(async (device) => {
    const config = tinyConfig(true), whole = await randomModel(device, config, HALVES);
    Object.assign(device, { largestTensor: 4 * 700 });
    for (const options of [{ trainable: "full" }, HALVES] as const) {
      const model = await randomModel(device, config, options);
      assert.ok(model.trainableArenas.length > 1);
      for (const { length, grad } of model.trainableArenas) {
        assert.ok(length <= 700 && grad.length === length);
      }
      const names = model.trainableArenas.flatMap(({ offsets }) => [...offsets.keys()]);
      assert.deepEqual(names.sort(), model.trainable.map(({ name }) => name).sort());
      const found = await step(model);
      if (options === HALVES) assert.deepEqual(found, await step(whole));
      model.dispose();
    }
    whole.dispose();
  }, "f32"));
