/**
 * Compares with transformers: the tiny random models of tests/golden/tiny-models (logits, loss,
 * every gradient, greedy continuation) and the two small trained models of tests/golden/models, on
 * the float64 reference, on the CPU device and on a GPU. The tolerances are those of the golden
 * files' README.
 */
import assert from "node:assert/strict";
import { assertWithin, largest } from "../kernels/testing.ts";
import { CausalLM } from "./causal_lm.ts";
import { readModelFolder } from "./model_folder.ts";
import { readSafetensors } from "./formats/safetensors/safetensors.ts";
import { isEmulated, onEachDevice } from "./each_device_testing.ts";
import { gradients } from "./testing.ts";
import { goldenPath } from "../tests/golden.ts";

interface Expected {
  input_ids: number[][];
  loss: { f64: number };
  greedy: number[][];
}

function total(numbers: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < numbers.length; i++) sum += numbers[i]!;
  return sum;
}

for (const family of ["llama", "llama3", "smollm2", "mistral", "qwen2", "qwen3", "gpt2"]) {
  const folder = goldenPath(`tiny-models/${family}`);

  Deno.test({
    name: `the tiny ${family} model has transformers' logits, loss, gradients and greedy text`,
    fn: () =>
      onEachDevice(async (device, exact) => {
        const { config, weights } = await readModelFolder(folder!);
        const golden = await readSafetensors(`${folder}/expected.safetensors`);
        const expected: Expected = JSON.parse(await Deno.readTextFile(`${folder}/expected.json`));
        const model = await CausalLM.create(device, config, weights, { trainable: "full" });

        for (const [s, ids] of expected.input_ids.entries()) {
          const logits = await golden.float64(`logits64.${s}`);
          // The loss and its gradients cover the other rows on an emulated card.
          for (let n = isEmulated(device) ? ids.length : 1; n <= ids.length; n++) {
            const row = logits.subarray((n - 1) * config.vocabSize, n * config.vocabSize);
            const found = await model.lastLogits(ids.slice(0, n));
            assertWithin(found, row, exact ? 1e-11 : 1e-4, `logits of sequence ${s}, row ${n - 1}`);
          }
        }

        const groups = expected.input_ids.map((ids) => ({
          promptIds: ids.slice(0, 1),
          branches: [ids.slice(1)],
        }));
        const { logp } = await model.forward(groups, { temperature: 1, train: true });
        const loss = -total(logp);
        assertWithin([loss], [expected.loss.f64], exact ? 1e-11 * 500 : 5e-4, "loss");
        model.backward(new Float64Array(logp.length).fill(-1));
        for (const [name, grad] of await gradients(model)) {
          const reference = await golden.float64(`grad.${name}`);
          assertWithin(grad, reference, 1e-4 * largest(reference), `gradient of ${name}`);
          let error = 0, norm = 0;
          reference.forEach((x, i) => {
            error += (x - grad[i]!) ** 2;
            norm += x * x;
          });
          // The golden gradients are float32 themselves.
          assert.ok(Math.sqrt(error / norm) < (exact ? 5e-6 : 5e-5), `gradient of ${name}`);
        }

        const completions = await model.generate(
          expected.input_ids.map((promptIds, promptId) => ({ promptId, promptIds, n: 1 })),
          { maxNewTokens: 16, temperature: 0, seed: 0, eosIds: [] },
        );
        assert.deepEqual(completions.map(([c]) => c!.ids), expected.greedy);
      }),
  });
}

const TRAINED = [
  {
    name: "tinystories-656k",
    prompt: [1, 80, 147, 201, 282, 57],
    greedy: [313, 598, 303, 1049, 1468, 267, 628, 333, 94, 1210, 263, 251, 604],
    top5: [[313, 17.3808], [8, 13.7726], [1773, 13.7435], [404, 12.6918], [547, 11.3585]],
    sum: -1947.479,
  },
  {
    name: "stories260k",
    prompt: [1, 403, 407, 261, 378],
    text:
      "Once upon a time, there was a little girl named Lily. She loved to play outside in the " +
      "park. One day, she saw a big, red ball. She wanted to play with it, but it was too high.",
    top5: [[432, 17.7994], [383, 14.2813], [322, 9.7097], [353, 9.5873], [323, 9.1342]],
  },
];

for (const { name, prompt, greedy, text, top5, sum } of TRAINED) {
  const folder = goldenPath(`models/${name}`);
  Deno.test({
    name: `${name} reproduces its published logits and greedy text`,
    fn: () =>
      onEachDevice(async (device) => {
        const { config, weights, tokenizer } = await readModelFolder(folder!);
        assert.deepEqual(tokenizer!.encode("Once upon a time"), prompt);
        const model = await CausalLM.create(device, config, weights, { trainable: "none" });

        const logits = await model.lastLogits(prompt);
        const best = [...logits.keys()].sort((a, b) => logits[b]! - logits[a]!).slice(0, 5);
        assert.deepEqual(best, top5.map(([id]) => id));
        assertWithin(best.map((id) => logits[id]!), top5.map(([, z]) => z!), 2e-4, "top logits");
        if (sum !== undefined) {
          assertWithin([total(logits)], [sum], 5e-3, "sum of the logits");
        }

        const maxNewTokens = greedy?.length ?? 80;
        const [completions] = await model.generate(
          [{ promptId: 0, promptIds: prompt, n: 1 }],
          { maxNewTokens, temperature: 0, seed: 0, eosIds: [] },
        );
        const { ids } = completions![0]!;
        if (greedy !== undefined) assert.deepEqual(ids, greedy);
        if (text !== undefined) {
          const found = tokenizer!.decode([...prompt, ...ids], {
            skipSpecialTokens: true,
          });
          assert.ok(found.trimStart().startsWith(text), found);
        }
      }),
  });
}
