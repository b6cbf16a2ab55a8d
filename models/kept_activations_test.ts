/** A training pass on the activations that sampling has kept, beside one that computes them. */
import type { CausalLM, CausalLMOptions } from "./causal_lm.ts";
import { isEmulated, onEachDevice } from "./each_device_testing.ts";
import type { GenerateRequest } from "./generation/types.ts";
import type { Group } from "./network/types.ts";
import { assertSameStep, gradients, randomModel, TINY_MODELS, type TrainStep } from "./testing.ts";

const OPTIONS = { maxNewTokens: 6, temperature: 0.9, seed: 3, eosIds: [2] };

/** Prompts that share a prefix, and a group that is the second part of another. */
const REQUESTS: GenerateRequest[] = [
  { promptId: 7, promptIds: [3, 4, 5, 6, 7], n: 3 },
  { promptId: 8, promptIds: [3, 4, 5, 9], n: 2 },
  { promptId: 9, promptIds: [1], n: 2, firstBranch: 4 },
];

async function pass(model: CausalLM, limits: object, keeps: boolean): Promise<TrainStep> {
  const kept = keeps ? model.activationStore() : undefined;
  kept?.clear(80);
  const completions = await model.generate(REQUESTS, { ...OPTIONS, keep: kept }, limits);
  const groups = REQUESTS.map(({ promptId, promptIds, firstBranch = 0 }, i): Group => ({
    promptId,
    promptIds,
    firstBranch,
    branches: completions[i]!.map(({ ids }) => ids),
  }));
  // The order of the groups and the size of a pass are the trainer's.
  const [first, second, third] = groups as [Group, Group, Group];
  const all: number[] = [], entropies: number[] = [];
  model.zeroGrad();
  for (const batch of [[third, first], [second]]) {
    const { logp, entropy } = await model.forward(batch, { temperature: 0.9, train: true, kept });
    model.backward(
      Float64Array.from(logp, (_, i) => Math.sin(i + 1)),
      Float64Array.from(logp, (_, i) => 0.1 * Math.cos(i)),
    );
    all.push(...logp);
    entropies.push(...entropy);
  }
  kept?.dispose();
  const values = { logp: Float64Array.from(all), entropy: Float64Array.from(entropies) };
  return { ...values, grads: await gradients(model) };
}

const KINDS: CausalLMOptions[] = [
  { trainable: "full" },
  { trainable: "lora", lora: { r: 3, alpha: 6, targetModules: "all-linear" } },
];

for (const [index, [what, config]] of TINY_MODELS.entries()) {
  Deno.test(`kept activations give the same losses and gradients: ${what}`, () =>
    onEachDevice(async (device, exact) => {
      for (const [kind, options] of KINDS.entries()) {
        if (isEmulated(device) && index % 2 !== kind) continue;
        const model = await randomModel(device, config, options);
        for (const [way, limits] of [{}, { slots: 2, prefillRows: 6 }].entries()) {
          if (isEmulated(device) && way !== kind) continue;
          const expected = await pass(model, limits, false);
          const found = await pass(model, limits, true);
          const bound = exact ? 1e-12 : 1e-4;
          assertSameStep(found, expected, bound, { least: 1e-3, what: device.name });
        }
        model.dispose();
      }
    }));
}
