/**
 * Steps that run ahead of the host: they change no completion, and a card has work while the host
 * reads.
 */
import assert from "node:assert/strict";
import { createWebgpuDevice } from "../../kernels/devices/webgpu/device.ts";
import { webgpuTest } from "../../kernels/devices/webgpu/testing.ts";
import type { Device } from "../../kernels/device.ts";
import { randomModel, test, TINY_MODELS, tinyConfig } from "../testing.ts";
import type { GeneratorLimits } from "./generate.ts";
import type { GenerateOptions, GenerateRequest } from "./types.ts";

const options: GenerateOptions = {
  maxNewTokens: 14,
  temperature: 0.9,
  seed: 5,
  eosIds: [3, 8],
};
/** Branches end at different times; the last request samples with other parameters. */
const requests: GenerateRequest[] = [
  { promptId: 1, promptIds: [1, 2, 3, 4], n: 6 },
  { promptId: 2, promptIds: [5], n: 3, sampling: { maxNewTokens: 5 } },
  { promptId: 3, promptIds: [7, 7], n: 4, sampling: { minNewTokens: 6 } },
];
const others: GenerateRequest[] = [
  ...requests,
  { promptId: 4, promptIds: [2, 9], n: 2, sampling: { repetitionPenalty: 1.3 } },
];
const LIMITS: Partial<GeneratorLimits>[] = [
  { stepsPerRead: 1 },
  { stepsPerRead: 2 },
  { stepsPerRead: 3, slots: 4 },
  { stepsPerRead: 4, slots: 7, prefillRows: 3 },
  { stepsPerRead: 100 },
];

/** Lets the host read later, as a card does. The copies are made at once. */
function readsLater(device: Device): { count: number } {
  const copies = { count: 0 };
  device.readLater = async (tensors) => {
    copies.count++;
    const found = await Promise.all(
      tensors.map(({ tensor, length }) => device.read(tensor, 0, length)),
    );
    return () => Promise.resolve(found);
  };
  return copies;
}

for (const [part, config] of TINY_MODELS.slice(0, 2)) {
  test.onReference(`steps ahead of the host change no completion, with ${part}`, async (device) => {
    const model = await randomModel(device, config, { trainable: "none" });
    for (const asked of [requests, others]) {
      const expected = await model.generate(asked, options);
      const copies = readsLater(device);
      for (const limits of LIMITS) {
        assert.deepEqual(
          await model.generate(asked, options, limits),
          expected,
          JSON.stringify(limits),
        );
      }
      assert.ok(copies.count > 10);
      delete device.readLater;
    }
    model.dispose();
  });
}

webgpuTest("a card has the next step while the host reads", async () => {
  using device = await createWebgpuDevice();
  const model = await randomModel(device, tinyConfig(true), { trainable: "none" });
  const asked = [{ promptId: 1, promptIds: [1, 2, 3], n: 6 }];
  const endless = { ...options, maxNewTokens: 21, eosIds: [] };
  const before = device.counters;
  await model.generate(asked, endless, { stepsPerRead: 5 });
  const { reads, hiddenReads } = device.counters;
  // Tokens and log-probabilities of the first token, and of four rounds. Nothing follows the last
  // one, and the first token is sampled before the branches have slots.
  assert.equal(reads - before.reads, 2 * (1 + 4));
  assert.equal(hiddenReads - before.hiddenReads, 2 * 3);
  model.dispose();
});
