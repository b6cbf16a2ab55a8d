/** Generation and training where RoPE's frequencies depend on the length of the text. */
import assert from "node:assert/strict";
import { assertWithin } from "../../kernels/testing.ts";
import { onEachDevice } from "../each_device_testing.ts";
import { randomModel, TINY_MODELS } from "../testing.ts";

const options = { maxNewTokens: 9, temperature: 1, seed: 4, eosIds: [] };
const ids = (n: number) => Array.from({ length: n }, (_, i) => (3 * i + 1) % 19);
/** Shorter than the original length, slightly longer, and much longer; most are prefixes. */
const prompts = [ids(3), ids(5), ids(7), ids(20), [2, ...ids(20)], [2, ...ids(20)], ids(21)];

for (const [name, config] of TINY_MODELS.filter(([name]) => /RoPE/.test(name))) {
  Deno.test(`a prompt samples the same alone and in any batch, ${name}`, () =>
    onEachDevice(async (device, exact) => {
      const model = await randomModel(device, config, { trainable: "full" });
      const requests = prompts.map((promptIds, promptId) => ({ promptId, promptIds, n: 2 }));
      const together = await model.generate(requests, options);
      for (const [i, request] of requests.entries()) {
        const [alone] = await model.generate([request], options);
        alone!.forEach((completion, branch) => {
          const found = together[i]![branch]!;
          assert.deepEqual(found.ids, completion.ids);
          assertWithin(found.logprobs, completion.logprobs, exact ? 1e-10 : 1e-4, `prompt ${i}`);
        });
      }
      model.dispose();
    }));

  Deno.test(`the training pass computes the sampled log-probabilities, ${name}`, () =>
    onEachDevice(async (device, exact) => {
      const model = await randomModel(device, config, { trainable: "full" });
      const sampled = await model.generate(
        prompts.map((promptIds, promptId) => ({ promptId, promptIds, n: 3 })),
        options,
      );
      const groups = prompts.map((promptIds, p) => ({
        promptIds,
        branches: sampled[p]!.map((completion) => completion.ids),
      }));
      const { logp } = await model.forward(groups, { temperature: 1, train: true });
      const found = sampled.flatMap((of) => of.flatMap(({ logprobs }) => [...logprobs]));
      assertWithin(logp, found, exact ? 1e-10 : 1e-4, "log-probabilities");
      model.backward(new Float64Array(logp.length));
      model.dispose();
    }));
}
