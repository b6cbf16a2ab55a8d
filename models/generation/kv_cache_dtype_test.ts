/**
 * Generation with rounded keys and values: log-probabilities are close to the model's, the plan
 * counts half of the cache, and a card refuses them.
 */
import assert from "node:assert/strict";
import { UsageError } from "../../core/errors.ts";
import { refusal } from "../../core/testing.ts";
import { onEachDevice } from "../each_device_testing.ts";
import { logprobDifference, randomModel, test, TINY_MODELS } from "../testing.ts";
import type { KvCacheDtype } from "../network/types.ts";
import { countGeneration, type GenerationSizes, packedBytes } from "./memory/counted_generation.ts";
import { planSlots } from "./memory/generation_slots.ts";
import type { GenerateRequest } from "./types.ts";

const prompt = Array.from({ length: 40 }, (_, i) => (i * i + 3) % 19);
// The second prompt shares 33 tokens with the first.
const requests: GenerateRequest[] = [prompt, [...prompt.slice(0, 33), 5], [2, 6]].map((
  promptIds,
  promptId,
) => ({ promptId, promptIds, n: 2 }));
const options = { maxNewTokens: 12, temperature: 0.8, seed: 4, eosIds: [] } as const;
const rounded = { ...options, kvCacheDtype: "bfloat16" } as const;

Deno.test("rounded keys and values change log-probabilities a little; a card refuses them", () =>
  onEachDevice(async (device) => {
    for (const [part, tiny] of TINY_MODELS) {
      const config = { ...tiny, maxPositions: 64 };
      const model = await randomModel(device, config, { trainable: "none" });
      if (device.adapter !== undefined) {
        await assert.rejects(model.generate(requests, rounded), refusal(/on a card/, UsageError));
        model.dispose();
        return;
      }
      const exact = await model.generate(requests, options);
      const found = await model.generate(requests, rounded),
        change = logprobDifference(exact.flat(), found.flat());
      assert.ok(change > 1e-5 && change < 0.3, `${part}: log-probabilities differ by ${change}`);
      for (const [i, request] of requests.entries()) {
        assert.deepEqual((await model.generate([request], rounded))[0], found[i], part);
      }
      // The cache in floats is made anew.
      assert.deepEqual(await model.generate(requests, options), exact, part);
      model.dispose();
    }
  }));

test.onReference("the plan counts half of the cache, and what a generation takes", async (device) => {
  const limits = { bytes: Infinity, largestBuffer: Infinity, maxSlots: 6, prefillRows: 1024 };
  for (const [part, tiny] of TINY_MODELS.filter((_, i) => i % 3 === 0)) {
    const config = { ...tiny, maxPositions: 256 };
    const model = await randomModel(device, config, { trainable: "none" }), { sizes } = model;
    const planOf = (kvCacheDtype: KvCacheDtype) =>
      planSlots(sizes, requests, { maxNewTokens: 12, kvCacheDtype }, limits);
    const [halves, floats] = [await planOf("bfloat16"), await planOf("float32")];
    const before = device.allocatedBytes;
    device.resetPeak();
    await model.generate(requests, rounded);
    const measured = device.peakBytes - before;
    const planned = (await countGeneration(sizes, halves)).bytes + packedBytes(sizes);
    assert.ok(measured <= planned, `${part}: planned ${planned}, measured ${measured}`);
    const rowsOf = async (plan: GenerationSizes) =>
      (await countGeneration(sizes, { ...plan, branchRows: 9000 })).bytes -
      (await countGeneration(sizes, { ...plan, branchRows: 1000 })).bytes;
    // A float has 8 bytes on this device.
    const ratio = 4 * await rowsOf(halves) / await rowsOf(floats);
    assert.ok(Math.abs(ratio - 1) < 0.01, `${part}: ${ratio}`);
    model.dispose();
  }
});
