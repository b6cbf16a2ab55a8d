/**
 * Generation with int8 activations: its logits are close to the model's, a completion does not
 * depend on other requests, and unsuitable models are refused.
 */
import assert from "node:assert/strict";
import { UsageError } from "../../core/errors.ts";
import { refusal } from "../../core/testing.ts";
import type { Device } from "../../kernels/device.ts";
import { quantizeQ4 } from "../../kernels/weights/quantize.ts";
import { requireInt8Weights } from "./int8_activations.ts";
import { initWeights } from "../network/weights/init.ts";
import { CausalLM } from "../causal_lm.ts";
import { modelTensors } from "../architectures/mod.ts";
import { onEachDevice } from "../each_device_testing.ts";
import { logprobDifference, tinyConfig } from "../testing.ts";
import type { ModelFolder } from "../model_folder.ts";
import type { ModelConfig } from "../architectures/model_config.ts";
import type { WeightReader } from "../formats/weight_reader.ts";
import type { StorageOptions } from "../network/weights/weight_storage.ts";

// With biases even a model of this size keeps its weights in blocks.
const config: ModelConfig = {
  ...tinyConfig(true),
  hiddenSize: 64,
  intermediateSize: 128,
  numHeads: 4,
  numKvHeads: 2,
  headDim: 16,
  architecture: "qwen2",
};

/** Random weights with all matrices in q4_0. */
function blocks(): WeightReader {
  const random = initWeights(config, 5, 0.3);
  const tensors = modelTensors(config);
  return {
    label: "random weights",
    typeOf: (name) =>
      tensors.find((tensor) => tensor.name === name)?.shape.length === 2 ? "q4_0" : null,
    values: (name) => Promise.resolve(random.get(name) ?? null),
    bytes: (name) => Promise.resolve(quantizeQ4(random.get(name)!).slice()),
  };
}

const requests = [[1, 5, 7], [2, 6], [9, 3, 4, 8]].map((promptIds, promptId) => ({
  promptId,
  promptIds,
  n: 2,
}));
const options = { maxNewTokens: 10, temperature: 0.8, seed: 4, eosIds: [] } as const;

async function made(device: Device): Promise<CausalLM> {
  const model = await CausalLM.create(device, config, blocks(), { trainable: "none" });
  assert.equal(model.parameters.filter(({ storage }) => storage === "q4_0").length, 3 * 7 + 1);
  return model;
}

Deno.test("int8 activations change log-probabilities a little, and tokens seldom", () =>
  onEachDevice(async (device) => {
    const model = await made(device);
    const answers = [];
    for (const activations of ["float32", "int8"] as const) {
      answers.push((await model.generate(requests, { ...options, activations })).flat());
    }
    const change = logprobDifference(answers[0]!, answers[1]!);
    assert.ok(change > 1e-6 && change < 0.3, `log-probabilities differ by ${change}`);
    model.dispose();
  }));

Deno.test("with int8 activations, too, a branch has the same bits alone and with others", () =>
  onEachDevice(async (device) => {
    if (device.adapter !== undefined) return; // the order of its sums depends on the number of rows
    const model = await made(device);
    const generate = (some: typeof requests) =>
      model.generate(some, { ...options, activations: "int8" });
    const together = await generate(requests);
    for (const [i, request] of requests.entries()) {
      assert.deepEqual((await generate([request]))[0], together[i]);
    }
    model.dispose();
  }));

Deno.test("a model without 4-bit weights is refused int8 activations", () =>
  onEachDevice(async (device) => {
    const model = await CausalLM.create(device, config, initWeights(config, 5, 0.3), {
      trainable: "none",
    });
    await assert.rejects(
      model.generate(requests, { ...options, activations: "int8" }),
      refusal(/found float32; expected one of q4_0, q4_1, q4_k/, UsageError),
    );
    model.dispose();
  }));

Deno.test("support for int8 activations is known from the headers of files", () => {
  const folder = { path: "folder", config, files: blocks() } as ModelFolder;
  requireInt8Weights(folder, {});
  // A Llama of this size is stored as floats, which decode faster, unless int8 activations are
  // asked for.
  requireInt8Weights({ ...folder, config: { ...config, architecture: "llama" } }, {});
  const refused = (files: WeightReader, weights: StorageOptions, found: string, of = config) =>
    assert.throws(
      () => requireInt8Weights({ ...folder, config: of, files }, weights),
      new RegExp(`activations int8: no weight of folder has .* found ${found}; expected one`),
    );
  refused(blocks(), { dtype: "float32" }, "float32");
  refused(blocks(), { dtype: "bfloat16" }, "bf16");
  const halves: WeightReader = { ...blocks(), typeOf: () => "bf16" };
  refused(halves, {}, "bf16");
  refused(halves, { quantize: "int8" }, "bf16, int8");
  // It is enough when the head is in blocks, but not when only the embedding is.
  const only = (name: string): WeightReader => ({
    ...blocks(),
    typeOf: (wanted) => wanted === name ? "q4_0" : null,
  });
  requireInt8Weights({ ...folder, files: only("model.embed_tokens.weight") }, {});
  const untied = { ...config, tieWordEmbeddings: false };
  requireInt8Weights({ ...folder, config: untied, files: only("lm_head.weight") }, {});
  refused(only("model.embed_tokens.weight"), {}, "float32", untied);
});
