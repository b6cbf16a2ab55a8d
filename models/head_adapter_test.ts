/** LoRA on the head (lm_head): gradients, devices, generation, storage types, memory. */
import assert from "node:assert/strict";
import { createWasmDevice } from "../kernels/devices/wasm/device.ts";
import { assertWithin, largest } from "../kernels/testing.ts";
import type { CausalLMOptions } from "./causal_lm.ts";
import { assertGradientsAreSlopes } from "./finite_differences_testing.ts";
import { onEachDevice } from "./each_device_testing.ts";
import type { LoraOptions } from "./network/adapters/lora.ts";
import type { ForwardOptions, Group } from "./network/types.ts";
import {
  namesIn,
  randomModel,
  sampledLogprobs,
  scored,
  test,
  TINY_MODELS,
  tinyConfig,
  trainStep,
  weighted,
} from "./testing.ts";

const groups: Group[] = [
  {
    promptIds: [1, 2, 3, 4],
    promptId: 70,
    branches: [[5, 6, 7], [8], [9, 10, 11, 12, 13]],
  },
  { promptIds: [14], branches: [[2, 2, 18]], promptId: 71 },
];
const { dlogp, dentropy, weigh } = weighted(12);
const masks = { dropout: { seed: 12, pass: 1 } };
const A = "base_model.model.lm_head.lora_A.weight", B = "base_model.model.lm_head.lora_B.weight";

function lora(targetModules: readonly string[], more: Partial<LoraOptions> = {}): LoraOptions {
  return { r: 3, alpha: 6, targetModules, rankPattern: { lm_head: 2 }, seed: 3, ...more };
}

const trained = (options: LoraOptions): CausalLMOptions => ({ trainable: "lora", lora: options });

/** Heads that are tied, apart or with other names, and logits that are capped or divided. */
const HEADS = TINY_MODELS.filter(([, { architecture = "llama", ropeScaling }]) =>
  ropeScaling === null && ["llama", "gpt2", "gemma2", "phi3"].includes(architecture)
);

for (const [part, config] of HEADS) {
  const [layer, copied] = config.architecture === "gpt2" ? ["c_attn", "wte"] : [
    namesIn(config, ["v_proj"])[0],
    "embed_tokens",
  ];
  const cases: [string, LoraOptions, Partial<ForwardOptions>][] = [
    ["the head alone", lora(["lm_head"]), {}],
    ["head and layers", lora(["lm_head", layer!], { useRslora: true }), {}],
    ["dropout", lora(["lm_head", layer!], { dropout: 0.3 }), masks],
    ["an embedding in full", lora(["lm_head"], { modulesToSave: [copied!] }), {}],
  ];
  test.onReference(`an adapter on the head has the gradients of finite differences, with ${part}`, async (device) => {
    for (const [what, options, how] of cases) {
      const model = await randomModel(device, config, trained(options));
      const { grads } = await trainStep(model, groups, { dlogp, dentropy }, how);
      assert.ok(largest(grads.get(A)!) > 0 && largest(grads.get(B)!) > 0, what);
      const objective = async () =>
        weigh(await model.forward(groups, { temperature: 0.8, train: false, ...how }));
      await assertGradientsAreSlopes(model, grads, objective, `${what}:`);
      model.dispose();
      assert.equal(device.allocatedBytes, 0);
    }
  });
}

Deno.test("generation has the log-probabilities of a forward; switched off, those of the base", () =>
  onEachDevice(async (device, exact) => {
    const weights = [undefined, { dtype: "bfloat16" as const }];
    for (const [i, storage] of weights.entries()) {
      for (const tied of [true, false]) {
        const config = { ...tinyConfig(tied), hiddenSize: 16, vocabSize: 150 };
        const options = {
          ...trained(lora(["lm_head", "q_proj"])),
          ...(storage === undefined ? {} : { weights: storage }),
        };
        const model = await randomModel(device, config, options);
        const request = (n: number) => [{ promptId: 0, promptIds: [3, 1, 4, 1, 5], n }];
        const ask = { maxNewTokens: 6, temperature: 1, seed: 1, eosIds: [] };
        for (const adapter of [true, false]) {
          const found = await model.generate(request(5), { ...ask, adapter });
          const logp = await scored(model, request(5), found, { adapter });
          assertWithin(
            sampledLogprobs(found),
            logp,
            exact ? 1e-6 : 2e-4,
            `${i} ${tied} ${adapter}`,
          );
        }
        const base = await model.withAdapter(null), off = { adapter: false };
        const ids = [3, 1, 4], wanted = await base.lastLogits(ids);
        assert.deepEqual(await model.lastLogits(ids, off), wanted);
        assert.notDeepEqual(await model.lastLogits(ids), wanted);
        assert.deepEqual(
          await model.generate(request(2), { ...ask, ...off }),
          await base.generate(request(2), ask),
        );
        base.dispose();
        model.dispose();
      }
    }
  }));

Deno.test("a head that is merged in parts has the log-probabilities of a forward", async () => {
  const device = await createWasmDevice({ threads: 2 });
  await device.ready();
  // A part is 4 MiB: 65,536 rows of 16 floats.
  const config = { ...tinyConfig(false), hiddenSize: 16, vocabSize: 70_003, numLayers: 1 };
  const model = await randomModel(device, config, trained(lora(["lm_head"])));
  const requests = [{ promptId: 0, promptIds: [3, 69_999, 4], n: 40 }];
  const ask = { maxNewTokens: 4, temperature: 1, seed: 1, eosIds: [] };
  const found = await model.generate(requests, ask);
  assert.ok(found.flat().some(({ ids }) => ids.some((id) => id > 65_536)));
  const logp = await scored(model, requests, found);
  assertWithin(sampledLogprobs(found), logp, 1e-4, "logp");
  model.dispose();
  device.close();
});
