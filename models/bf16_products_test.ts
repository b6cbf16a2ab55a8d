/** Models whose products are in bfloat16 (kernels/ops/matmul/bf16.ts), on every device. */
import assert from "node:assert/strict";
import type { Device } from "../kernels/device.ts";
import { createWasmDevice } from "../kernels/devices/wasm/device.ts";
import { assertWithin } from "../kernels/testing.ts";
import type { ModelConfig } from "./architectures/model_config.ts";
import type { CausalLMOptions } from "./causal_lm.ts";
import { onEachDevice } from "./each_device_testing.ts";
import { gradients, randomModel, TINY_MODELS, tinyConfig } from "./testing.ts";

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
 * Rounding to bfloat16 has a relative error of 2^-9. A gradient of the deepest layer went through
 * some ten products, each with two operands, whose errors add up like random numbers. The bound,
 * for all gradients of a model together, is twice the largest that was found; a single tensor may
 * have four times as much.
 */
const BOUND = 0.07;
/**
 * Devices round at the same points, so they differ much less from one another: where a float32 of
 * one is on the other side of the middle between two numbers in bfloat16.
 */
const SAME_POINTS = 0.004;

const norm = (x: Float64Array) => Math.hypot(...x);
const distance = (x: Float64Array, y: Float64Array) => norm(x.map((value, i) => value - y[i]!));

async function step(device: Device, config: ModelConfig, options: CausalLMOptions) {
  const model = await randomModel(device, config, options);
  const { logp } = await model.forward(groups, { temperature: 0.8, train: true });
  model.backward(dlogp);
  const found = { logp, grads: await gradients(model) };
  model.dispose();
  return found;
}

const KINDS = [["full", FULL, TINY_MODELS], ["LoRA", LORA, TINY_MODELS.slice(0, 2)]] as const;

for (const [kind, options, models] of KINDS) {
  Deno.test(`gradients are those of float64 but for the rounding, ${kind} fine-tuning`, async () => {
    for (const [part, config] of models) {
      let exactly: Awaited<ReturnType<typeof step>> | undefined, rounded: typeof exactly;
      await onEachDevice(async (device, exact) => {
        if (exact) exactly = await step(device, config, options);
        device.computeDtype = "bfloat16";
        const found = await step(device, config, options);
        const logp = distance(Float64Array.from(found.logp), Float64Array.from(exactly!.logp));
        assert.ok(logp < BOUND * norm(Float64Array.from(exactly!.logp)), `${part}: logp ${logp}`);
        rounded ??= found;
        let all = 0, wrong = 0, apart = 0;
        for (const [name, expected] of exactly!.grads) {
          const size = norm(expected), grad = found.grads.get(name)!;
          const error = distance(grad, expected), label = `${part}, ${name} on ${device.name}`;
          assert.ok(error < 4 * BOUND * size + 1e-6, `${label}: ${error / size}`);
          all = Math.hypot(all, size);
          wrong = Math.hypot(wrong, error);
          apart = Math.hypot(apart, distance(grad, rounded.grads.get(name)!));
        }
        assert.ok(wrong < BOUND * all, `${part} on ${device.name}: ${wrong / all}`);
        assert.ok(wrong > 2 ** -12 * all, "nothing was rounded");
        assert.ok(apart < SAME_POINTS * all, `${part} on ${device.name}: ${apart / all} apart`);
      });
    }
  });
}

Deno.test("the sampler's log-probabilities are those of a forward but for few roundings", () =>
  onEachDevice(async (device) => {
    device.computeDtype = "bfloat16";
    const config = { ...tinyConfig(true), hiddenSize: 16, vocabSize: 150 };
    const model = await randomModel(device, config, LORA);
    const request = [{ promptId: 0, promptIds: [3, 1, 4, 1, 5], n: 5 }];
    const ask = { maxNewTokens: 6, temperature: 1, seed: 1, eosIds: [] };
    const completions = (await model.generate(request, ask))[0]!;
    const branches = completions.map(({ ids }) => ids);
    const how = { temperature: 1, train: false };
    const { logp } = await model.forward([{ promptIds: [3, 1, 4, 1, 5], branches }], how);
    assertWithin(completions.flatMap(({ logprobs }) => [...logprobs]), logp, 0.02, device.name);
    model.dispose();
  }));

Deno.test("threads and native kernels change no bit, in generation and training", async () => {
  const config = {
    ...tinyConfig(true),
    hiddenSize: 72,
    intermediateSize: 200,
    vocabSize: 301,
    maxPositions: 64,
  };
  for (const options of [FULL, LORA]) {
    let first: unknown;
    for (const [threads, native] of [[1, false], [2, true], [3, true]] as const) {
      const device = await createWasmDevice({ threads, native });
      device.computeDtype = "bfloat16";
      try {
        const model = await randomModel(device, config, options);
        const promptIds = Array.from({ length: 40 }, (_, i) => i * 7 % 301);
        const ask = { maxNewTokens: 20, temperature: 1, seed: 4, eosIds: [5] };
        const [completions] = await model.generate([{ promptId: 0, promptIds, n: 7 }], ask);
        const branches = completions!.map(({ ids }) => ids);
        const how = { temperature: 1, train: true };
        const { logp } = await model.forward([{ promptIds, branches }], how);
        model.backward(Float64Array.from(logp, (_, i) => Math.sin(i)));
        const found = { completions, logp, grads: await gradients(model) };
        assert.deepEqual(found, first ??= found);
        model.dispose();
      } finally {
        device.close();
      }
    }
  }
});
