/**
 * A small trained GPT-2 (untied head, three letters) on its task: it sorts six letters. The file
 * lacks the biases of c_attn, which the model was trained with. They are small, and with zeros the
 * model sorts as well; but numbers that were recorded with the biases cannot be reproduced.
 * (causal_lm_golden_test.ts covers the architecture.)
 */
import assert from "node:assert/strict";
import { RgxError } from "../core/errors.ts";
import { CausalLM } from "./causal_lm.ts";
import { readModelFolder } from "./model_folder.ts";
import { onEachDevice } from "./each_device_testing.ts";
import { goldenPath } from "../tests/golden.ts";

const folder = goldenPath("models/gpt-nano-sort");
const LETTERS = 3, LENGTH = 6;

Deno.test({
  name: "gpt-nano-sort sorts all 729 inputs, and is refused without its biases",
  fn: () =>
    onEachDevice(async (device) => {
      const { config, weights } = await readModelFolder(folder!);
      await assert.rejects(
        () => CausalLM.create(device, config, weights, { trainable: "none" }),
        (e) =>
          e instanceof RgxError && /no tensor "transformer.h.0.attn.c_attn.bias"/.test(e.message),
      );
      const withZeros: typeof weights = async (name, shape) =>
        name.endsWith("c_attn.bias") ? new Float32Array(shape[0]!) : await weights(name, shape);
      const model = await CausalLM.create(device, config, withZeros, { trainable: "none" });
      // The other devices are slow, and this test would show nothing new there.
      const step = device.name === "wasm" ? 1 : 40, inputs: number[][] = [];
      for (let n = 0; n < LETTERS ** LENGTH; n += step) {
        inputs.push(
          Array.from({ length: LENGTH }, (_, i) => Math.floor(n / LETTERS ** i) % LETTERS),
        );
      }
      const sorted = await model.generate(
        inputs.map((promptIds, promptId) => ({ promptId, promptIds, n: 1 })),
        { maxNewTokens: LENGTH, temperature: 0, seed: 0, eosIds: [] },
      );
      for (const [i, ids] of inputs.entries()) {
        // The eleven positions have room for six letters and five sorted ones.
        assert.deepEqual(sorted[i]![0]!.ids, ids.toSorted().slice(0, LENGTH - 1));
      }
    }),
});
