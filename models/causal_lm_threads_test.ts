/**
 * The CPU device gives the same bits with every number of threads, with native kernels and with
 * WebAssembly, through a whole training step.
 */
import assert from "node:assert/strict";
import { createWasmDevice } from "../kernels/devices/wasm/device.ts";
import { gradients, randomModel, tinyConfig } from "./testing.ts";
import type { ModelConfig } from "./architectures/model_config.ts";

const config: ModelConfig = {
  ...tinyConfig(true),
  vocabSize: 301,
  hiddenSize: 72,
  intermediateSize: 200,
  numLayers: 2,
  numHeads: 6,
  numKvHeads: 3,
  headDim: 16,
  maxPositions: 128,
};
const lora = { r: 4, alpha: 8, targetModules: [".*_proj", "lm_head"].join("|"), dropout: 0.2 };

const KINDS: [what: string, ModelConfig, trainable: "full" | "lora", dtype?: "bfloat16"][] = [
  ["lora", config, "lora"],
  ["full in bfloat16", config, "full", "bfloat16"],
  ["Mistral", { ...config, architecture: "mistral", slidingWindow: 20 }, "full"],
  ["GPT-2", { ...config, architecture: "gpt2", numKvHeads: 6, headDim: 12 }, "full"],
];

for (const [what, config, trainable, dtype = "float32"] of KINDS) {
  Deno.test(`the number of threads does not change any bit, ${what}`, async () => {
    const results = [];
    for (const [threads, native] of [[1, false], [2, true], [3, true]] as const) {
      using device = await createWasmDevice({ threads, native });
      device.computeDtype = dtype;
      const model = await randomModel(device, config, {
        trainable,
        ...(trainable === "lora" ? { lora, recompute: threads === 2 } : {}),
      });
      const requests = [0, 1, 2].map((promptId) => ({
        promptId,
        promptIds: Array.from({ length: 30 + 9 * promptId }, (_, i) => (i * 7 + promptId) % 301),
        n: 7,
      }));
      const completions = await model.generate(requests, {
        maxNewTokens: 24,
        temperature: 1,
        seed: 4,
        eosIds: [5, 50, 150],
      });
      const groups = requests.map(({ promptId, promptIds }, r) => ({
        promptId,
        promptIds,
        branches: completions[r]!.map((c) => c.ids),
      }));
      const dropout = { seed: 12, pass: 1 };
      const { logp, entropy } = await model.forward(groups, {
        temperature: 1,
        train: true,
        dropout,
      });
      model.backward(
        Float64Array.from(logp, (_, i) => Math.sin(i)),
        Float64Array.from(logp, (_, i) => 0.01 * Math.cos(i)),
      );
      results.push({ completions, logp, entropy, gradients: await gradients(model) });
    }
    for (const other of results.slice(1)) assert.deepEqual(other, results[0]);
  });
}
