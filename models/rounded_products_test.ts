/**
 * Models whose products are in bfloat16 or float16 (kernels/ops/matmul/bf16.ts, f16.ts), on every
 * device.
 */
import assert from "node:assert/strict";
import type { Device } from "../kernels/device.ts";
import { assertWithin } from "../kernels/testing.ts";
import type { ModelConfig } from "./architectures/model_config.ts";
import type { CausalLMOptions } from "./causal_lm.ts";
import { isEmulated, onEachDevice } from "./each_device_testing.ts";
import {
  randomModel,
  sampledLogprobs,
  scored,
  TINY_MODELS,
  tinyConfig,
  type TrainStep,
  trainStep,
} from "./testing.ts";

const FULL: CausalLMOptions = { trainable: "full" };
const LORA: CausalLMOptions = {
  trainable: "lora",
  lora: { r: 3, alpha: 6, targetModules: "all-linear", seed: 9 },
};
const groups = [
  { promptIds: [1, 2, 3, 4], branches: [[5, 6, 7], [8], [], [9, 10, 11, 12, 13], [5, 6]] },
  { promptIds: [14], branches: [[2, 2, 18]] },
];
const dlogp = Float64Array.from({ length: 14 }, (_, i) => Math.cos(i * 2.1));

/**
 * Rounding to bfloat16 has a relative error of 2^-9, to float16 one of 2^-12. A gradient of the
 * deepest layer went through some ten products, each with two operands, whose errors add up like
 * random numbers. The bound, for all gradients of a model together, is twice the largest that was
 * found; a single tensor may have four times as much.
 * Devices round at the same points, so they differ much less from one another: where a float32 of
 * one is on the other side of the middle between two numbers of the type.
 */
const BOUNDS = {
  bfloat16: { exact: 0.07, samePoints: 0.004, least: 2 ** -12 },
  float16: { exact: 0.07 / 8, samePoints: 0.004 / 4, least: 2 ** -15 },
};

const norm = (x: Float64Array) => Math.hypot(...x);
const distance = (x: Float64Array, y: Float64Array) => norm(x.map((value, i) => value - y[i]!));

async function step(device: Device, config: ModelConfig, options: CausalLMOptions) {
  const model = await randomModel(device, config, options);
  const found = await trainStep(model, groups, { dlogp });
  model.dispose();
  return found;
}

const KINDS = [
  ["bfloat16", "full", FULL, TINY_MODELS],
  ["bfloat16", "LoRA", LORA, TINY_MODELS.slice(0, 2)],
  ["float16", "full", FULL, TINY_MODELS.slice(0, 4)],
  ["float16", "LoRA", LORA, TINY_MODELS.slice(0, 2)],
] as const;

for (const [dtype, kind, options, models] of KINDS) {
  const how = `${kind} fine-tuning in ${dtype}`,
    { exact: bound, samePoints, least } = BOUNDS[dtype];
  Deno.test(`gradients are those of float64 but for the rounding, ${how}`, async () => {
    for (const [part, config] of models) {
      let exactly: TrainStep | undefined, rounded: TrainStep | undefined;
      await onEachDevice(async (device, exact) => {
        if (isEmulated(device) && config.architecture !== undefined) return;
        if (exact) exactly = await step(device, config, options);
        device.computeDtype = dtype;
        const found = await step(device, config, options);
        const logp = distance(Float64Array.from(found.logp), Float64Array.from(exactly!.logp));
        assert.ok(logp < bound * norm(Float64Array.from(exactly!.logp)), `${part}: logp ${logp}`);
        rounded ??= found;
        let all = 0, wrong = 0, apart = 0;
        for (const [name, expected] of exactly!.grads) {
          const size = norm(expected), grad = found.grads.get(name)!;
          const error = distance(grad, expected), label = `${part}, ${name} on ${device.name}`;
          assert.ok(error < 4 * bound * size + 1e-6, `${label}: ${error / size}`);
          all = Math.hypot(all, size);
          wrong = Math.hypot(wrong, error);
          apart = Math.hypot(apart, distance(grad, rounded.grads.get(name)!));
        }
        assert.ok(wrong < bound * all, `${part} on ${device.name}: ${wrong / all}`);
        assert.ok(wrong > least * all, "nothing was rounded");
        assert.ok(apart < samePoints * all, `${part} on ${device.name}: ${apart / all} apart`);
      });
    }
  });
}

for (const dtype of ["bfloat16", "float16"] as const) {
  Deno.test(`the sampler's log-probabilities are those of a forward but for few roundings, ${dtype}`, () =>
    onEachDevice(async (device) => {
      device.computeDtype = dtype;
      const config = { ...tinyConfig(true), hiddenSize: 16, vocabSize: 150 };
      const model = await randomModel(device, config, LORA);
      const request = [{ promptId: 0, promptIds: [3, 1, 4, 1, 5], n: 5 }];
      const ask = { maxNewTokens: 6, temperature: 1, seed: 1, eosIds: [] };
      const found = await model.generate(request, ask), logp = await scored(model, request, found);
      const bound = dtype === "bfloat16" ? 0.02 : 0.02 / 8;
      assertWithin(sampledLogprobs(found), logp, bound, device.name);
      model.dispose();
    }));
}
