/**
 * RoPE scaling against transformers: tiny random models of four families, at lengths below and
 * beyond the original context, in one pass and token by token with a cache.
 */
import assert from "node:assert/strict";
import { assertWithin } from "../kernels/testing.ts";
import { goldenPath, readGoldenJson } from "../tests/golden.ts";
import { readHfConfig, writeHfConfig } from "./architectures/hf_config.ts";
import { ropeFrequencies } from "./architectures/rope_frequencies.ts";
import { attentionFactor } from "./architectures/rope_scaling.ts";
import { CausalLM } from "./causal_lm.ts";
import { isEmulated, onEachDevice } from "./each_device_testing.ts";
import { logSumExp } from "./logits.ts";
import { readSafetensors } from "./formats/safetensors/safetensors.ts";

interface Golden {
  text: number[];
  cases: {
    name: string;
    config: Record<string, unknown>;
    /** One pass over the first `length` tokens, by a new model. */
    lengths: {
      length: number;
      frequencies: number[];
      attention_scaling: number;
      /** Logits after the last token. */
      last: number[];
      /** Of text[1 … length − 1]. */
      logprob: number[];
    }[];
    /** A pass over `prompt` tokens, then one token at a time with cached keys. */
    decodes: { prompt: number; logprob: number[] }[];
  }[];
}

const { text, cases } = readGoldenJson<Golden>("rope-scaling/cases.json");

for (const { name, config: json, lengths, decodes } of cases) {
  const family = String(json["model_type"]);
  Deno.test(`${family} with rope scaling "${name}" computes what transformers does`, async () => {
    const hf = readHfConfig(json, "config.json"), config = hf.modelConfig;
    const written = readHfConfig(JSON.parse(writeHfConfig(hf)), "written");
    assert.deepEqual(written, hf, "a written config.json means the same");
    for (const { length, frequencies, attention_scaling: scale } of lengths) {
      const found = ropeFrequencies(config, length);
      const relative = found.map((theta, j) =>
        theta === frequencies[j] ? 1 : theta / frequencies[j]!
      );
      assertWithin(relative, Array(found.length).fill(1), 2e-5, `frequencies of ${length} tokens`);
      assertWithin([attentionFactor(config.ropeScaling)], [scale], 1e-6, "attention");
    }
    const file = await readSafetensors(goldenPath(`rope-scaling/${family}.safetensors`));
    const weights = new Map(
      await Promise.all(
        [...file.tensors.keys()].map(async (name) => [name, await file.float32(name)] as const),
      ),
    );
    await onEachDevice(async (device) => {
      // Angles come from the host; only some depend on the length.
      if (isEmulated(device) && !/^(dynamic|longrope with)/.test(name)) return;
      const model = await CausalLM.create(device, config, weights, { trainable: "full" });
      for (const { length, last, logprob } of lengths) {
        const ids = text.slice(0, length), found: number[] = [];
        let logits: number[] = [];
        await model.positionLogits(ids, (position, row) => {
          logits = [...row];
          if (position + 1 < length) found.push(row[ids[position + 1]!]! - logSumExp(row));
        });
        assertWithin(logits, last, 2e-4, `logits of ${length} tokens`);
        assertWithin(found, logprob, 2e-4, `log-probabilities of ${length} tokens`);
      }
      // All at once: a row's frequencies do not depend on the other rows of the batch.
      const groups = decodes.map(({ prompt, logprob }) => ({
        promptIds: text.slice(0, prompt),
        branches: [text.slice(prompt, prompt + logprob.length)],
      }));
      const { logp } = await model.forward(groups, { temperature: 1, train: true });
      assertWithin(logp, decodes.flatMap(({ logprob }) => logprob), 2e-4, "decoded");
      model.backward(new Float64Array(logp.length).fill(1));
      model.dispose();
    });
  });
}
