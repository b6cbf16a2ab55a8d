import assert from "node:assert/strict";
import { refusal } from "../../../core/testing.ts";
import { logitsProcessor } from "./logits_processor.ts";
import { onEachDevice } from "../../each_device_testing.ts";
import { assertWithin } from "../../../kernels/testing.ts";
import { randomModel, sampledLogprobs, scored, tinyConfig } from "../../testing.ts";
import type { GenerateRequest } from "../types.ts";

Deno.test("penalties count the completion's tokens, biases are added", () => {
  const logits = Float32Array.of(1, 2, 3, 4);
  const bias = new Map([[3, 10], [0, -100], [2, 0]]);
  logitsProcessor({ presencePenalty: 0.5, frequencyPenalty: 0.25, logitBias: bias }, 4)!(
    [1, 3, 1],
    logits,
  );
  assert.deepEqual([...logits], [-99, 1, 3, 13.25]);
  assert.equal(logitsProcessor({}, 4), null);
  assert.equal(logitsProcessor({ presencePenalty: 0, logitBias: new Map([[9, 0]]) }, 4), null);
  const refused = (options: Parameters<typeof logitsProcessor>[0], text: RegExp) =>
    assert.throws(() => logitsProcessor(options, 4), refusal(text));
  refused({ logitBias: new Map([[4, 1]]) }, /token id 4 is not in the vocabulary \(0 … 3\)/);
  refused({ logitBias: new Map([[0.5, 1]]) }, /token id 0.5/);
  refused({ logitBias: new Map([[1, NaN]]) }, /bias of token 1 is NaN/);
  refused({ presencePenalty: Infinity }, /presence penalty is Infinity/);
});

Deno.test("a processor on the host affects only its own request", () =>
  onEachDevice(async (device) => {
    const model = await randomModel(device, tinyConfig(true), { trainable: "none" });
    const options = { maxNewTokens: 8, temperature: 0.9, seed: 5, eosIds: [] };
    const vocab = model.vocabSize;
    const only = logitsProcessor({ logitBias: new Map([[7, 1000]]) }, vocab)!;
    const never = logitsProcessor({ presencePenalty: 1000 }, vocab)!;
    const some = logitsProcessor({ frequencyPenalty: 0.8, logitBias: new Map([[2, 1.5]]) }, vocab)!;
    const requests: GenerateRequest[] = [
      { promptId: 0, promptIds: [1, 2], n: 3 },
      { promptId: 1, promptIds: [3], n: 2, sampling: { adjust: only } },
      { promptId: 2, promptIds: [4, 5, 6], n: 2, sampling: { adjust: never } },
      {
        promptId: 3,
        promptIds: [4, 5, 6],
        n: 2,
        sampling: { adjust: some, repetitionPenalty: 1.3, minNewTokens: 4, eosIds: [2, 9] },
      },
    ];
    const together = await model.generate(requests, options);
    for (const { ids } of together[1]!) assert.deepEqual(ids, Array(8).fill(7));
    for (const { ids } of together[2]!) assert.equal(new Set(ids).size, 8);
    for (const [r, request] of requests.entries()) {
      assert.deepEqual(
        (await model.generate([request], options))[0]!.map(({ ids }) => ids),
        together[r]!.map(({ ids }) => ids),
        `request ${r}`,
      );
    }
    // The reported log-probabilities are those of the policy, from before the processor, as the
    // scoring pass computes them.
    const logp = await scored(model, requests, together, { temperature: 0.9 });
    assertWithin(sampledLogprobs(together), logp, 1e-4, "log-probabilities");
  }));
