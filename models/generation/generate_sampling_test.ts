/** Repetition penalty, minimum length and stop function, compared with a simple sampler. */
import assert from "node:assert/strict";
import { philox4x32, sampleCounter, seedWords, uniform23 } from "../../core/philox.ts";
import { assertWithin } from "../../kernels/testing.ts";
import type { CausalLM } from "../causal_lm.ts";
import { isEmulated, onEachDevice } from "../each_device_testing.ts";
import { randomModel, sampledLogprobs, test, tinyConfig, watchRuns } from "../testing.ts";
import type { Completion, GenerateOptions, GenerateRequest } from "./types.ts";

const requests: GenerateRequest[] = [
  { promptId: 10, promptIds: [1, 2, 3, 4], n: 5 },
  { promptId: 11, promptIds: [5], n: 3 },
  { promptId: 2 ** 33 + 1, promptIds: [1, 2, 3, 4, 1], n: 1 },
];
const base: GenerateOptions = { maxNewTokens: 9, temperature: 0.9, seed: 77, eosIds: [3, 8, 11] };
/** Stops after two consecutive ids in descending order. */
const stopWhen = (ids: readonly number[]) => ids.length > 1 && ids.at(-1)! < ids.at(-2)! - 6;

const RULES: [string, Partial<GenerateOptions>][] = [
  ["no rule", {}],
  ["penalty", { repetitionPenalty: 1.7 }],
  ["reward", { repetitionPenalty: 0.6 }],
  ["minimum length", { minNewTokens: 4 }],
  ["fixed length", { minNewTokens: 9 }],
  ["stop rule", { stopWhen }],
  ["all", { repetitionPenalty: 1.4, minNewTokens: 3, stopWhen }],
  ["all, greedy", { repetitionPenalty: 1.4, minNewTokens: 3, stopWhen, temperature: 0 }],
];

/**
 * Generates one branch token by token from whole logits, with the processors in the order of
 * transformers.
 */
async function plain(
  model: CausalLM,
  { promptId, promptIds }: GenerateRequest,
  branch: number,
  options: GenerateOptions,
): Promise<Completion> {
  const { repetitionPenalty: penalty = 1, minNewTokens = 0, temperature } = options;
  const ids: number[] = [], logprobs: number[] = [];
  const finish = (finishReason: Completion["finishReason"]) => ({ ids, logprobs, finishReason });
  while (ids.length < options.maxNewTokens) {
    const logits = [...await model.lastLogits([...promptIds, ...ids])];
    const adjusted = logits.slice();
    for (const t of new Set([...promptIds, ...ids])) {
      adjusted[t]! *= logits[t]! > 0 ? 1 / penalty : penalty;
    }
    if (ids.length < minNewTokens) { for (const t of options.eosIds) adjusted[t] = -Infinity; }
    const token = temperature === 0
      ? adjusted.indexOf(Math.max(...adjusted))
      : draw(adjusted.map((l) => Math.exp(l / temperature)), options.seed, [
        ...sampleCounter(promptId, branch, ids.length),
      ]);
    const weights = logits.map((l) => Math.exp(l / (temperature || 1)));
    ids.push(token);
    logprobs.push(Math.log(weights[token]! / weights.reduce((a, b) => a + b)));
    if (options.eosIds.includes(token)) return finish("stop");
    if (ids.length > minNewTokens && options.stopWhen?.(ids)) return finish("stop");
  }
  return finish("length");
}

function draw(weights: number[], seed: number, counter: number[]): number {
  const random = new Uint32Array(4), [c1, c2, c3] = counter;
  philox4x32(random, 0, c1!, c2!, c3!, ...seedWords(seed));
  const target = uniform23(random[0]!) * weights.reduce((a, b) => a + b);
  let sum = 0;
  return weights.findIndex((w) => (sum += w) > target);
}

async function plainly(
  model: CausalLM,
  asked: readonly GenerateRequest[],
  options: GenerateOptions,
): Promise<Completion[][]> {
  const completions: Completion[][] = [];
  for (const request of asked) {
    const group: Completion[] = [];
    for (let b = 0; b < request.n; b++) group.push(await plain(model, request, b, options));
    completions.push(group);
  }
  return completions;
}

const withoutLogprobs = (completions: Completion[][]) =>
  completions.flat().map(({ ids, finishReason }) => ({ ids, finishReason }));

for (const [name, params] of RULES) {
  const options = { ...base, ...params };
  Deno.test(`tokens, ends and log-probabilities are those of a simple sampler: ${name}`, () =>
    onEachDevice(async (device, exact) => {
      if (isEmulated(device) && name !== "all") return;
      const model = await randomModel(device, tinyConfig(true), { trainable: "none" });
      const asked = isEmulated(device) ? requests.slice(1, 2) : requests;
      const expected = await plainly(model, asked, options);
      const found = await model.generate(asked, options);
      assert.deepEqual(withoutLogprobs(found), withoutLogprobs(expected));
      // Every rule has an effect here.
      const unruled = await model.generate(asked, base);
      const logprobs = sampledLogprobs(found), isPlain = Object.keys(params).length === 0;
      assert.equal(sampledLogprobs(unruled).join() === logprobs.join(), isPlain);
      assertWithin(logprobs, sampledLogprobs(expected), exact ? 1e-12 : 1e-5, name);
    }));
}

test.onReference("penalties and minimum length cost an operation only in steps where they apply", async (device) => {
  const model = await randomModel(device, tinyConfig(true), { trainable: "none" });
  const steps = async (params: Partial<GenerateOptions>) => {
    const runs = watchRuns(device);
    await model.generate(requests, { ...base, eosIds: [], ...params });
    runs.restore();
    return runs.count("adjust_logits");
  };
  assert.equal(await steps({}), 0);
  assert.equal(await steps({ repetitionPenalty: 1, minNewTokens: 0, stopWhen }), 0);
  assert.equal(await steps({ minNewTokens: 4 }), 0, "nothing can end before its length");
  assert.equal(await steps({ minNewTokens: 4, eosIds: [3, 99] }), 4);
  assert.equal(await steps({ repetitionPenalty: 2 }), 9);
});
