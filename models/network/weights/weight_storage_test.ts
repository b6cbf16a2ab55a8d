/**
 * Models whose frozen weights are in a storage type give the same numbers as the same model with
 * weights that were widened beforehand: in passes, gradients and generation.
 */
import assert from "node:assert/strict";
import { UsageError } from "../../../core/errors.ts";
import { refusal } from "../../../core/testing.ts";
import type { Device } from "../../../kernels/device.ts";
import { createWasmDevice } from "../../../kernels/devices/wasm/device.ts";
import { assertWithin } from "../../../kernels/testing.ts";
import { initWeights } from "./init.ts";
import { CausalLM, type CausalLMOptions } from "../../causal_lm.ts";
import { modelTensors } from "../../architectures/mod.ts";
import { readModelFolder } from "../../model_folder.ts";
import { packStored, unpackStored } from "../../../kernels/weights/layout.ts";
import { isEmulated, onEachDevice } from "../../each_device_testing.ts";
import { assertSameStep, randomModel, TINY_MODELS, tinyConfig, trainStep } from "../../testing.ts";
import type { ModelConfig } from "../../architectures/model_config.ts";
import { copyStorage, planStorage, type StorageOptions } from "./weight_storage.ts";
import { goldenPath } from "../../../tests/golden.ts";

/** Sizes that are multiples of every block length except 256. */
function roomy(config: ModelConfig): ModelConfig {
  const wide = { hiddenSize: 64, intermediateSize: 128, numHeads: 4, headDim: 16 };
  const delta = config.delta && { ...config.delta, valueDim: 32 };
  const more = {
    ...(delta === undefined ? {} : { delta }),
    ...(config.perLayer === undefined ? {} : { perLayer: 64 }),
    ...(config.fullHeadDim && { fullHeadDim: 32 }),
  };
  const roomy = { ...config, ...wide, ...more, numKvHeads: config.architecture === "gpt2" ? 4 : 2 };
  // Its lists of divisors have the length of the tiny heads.
  return config.ropeScaling?.type === "longrope" ? { ...roomy, ropeScaling: null } : roomy;
}

const lora = { r: 4, alpha: 8, targetModules: "all-linear", seed: 3 };
const groups = [0, 1].map((g) => ({
  promptId: g,
  promptIds: [1 + g, 5, 7],
  branches: [[3, 4, 9 + g], [11, 2], []],
}));

/** Of the ten tokens of the branches. */
const SLOPES = {
  dlogp: new Float64Array(10).fill(1),
  dentropy: new Float64Array(10).fill(0.1),
};

/** Two models: one with weights in a type, and one with the values of that type as floats. */
async function pair(
  device: Device,
  config: ModelConfig,
  weights: StorageOptions,
  options: CausalLMOptions,
): Promise<[stored: CausalLM, float: CausalLM]> {
  const stored = await randomModel(device, config, { ...options, weights });
  // With what stays in its file.
  const values = initWeights(config, 5, 0.4);
  for (const { name } of stored.parameters) values.set(name, await stored.readParameter(name));
  const float = await CausalLM.create(device, config, values, options);
  // Reads return float32 on every device.
  for (const { name, storage } of stored.parameters) {
    const data = values.get(name)!;
    float.writeParameter(name, data);
    if (storage === null) stored.writeParameter(name, data);
  }
  return [stored, float];
}

const KINDS: readonly (readonly [string, StorageOptions, type: string, linear: string])[] = [
  ["float16", { dtype: "float16" }, "f16", "f16"],
  ["bfloat16", { dtype: "bfloat16" }, "bf16", "bf16"],
  ["blocks of 8 bits", { quantize: "int8", dtype: "bfloat16" }, "bf16", "int8"],
  ["blocks of 4 bits", { quantize: "nf4" }, "float", "nf4"],
];

/**
 * The weights are treated alike in all of these models, so on a GPU (or its slow software adapter)
 * these two are enough.
 */
const ON_WEBGPU = ["an untied head", "GPT-2's parts"];

for (const [kind, [what, weights, table, linear]] of KINDS.entries()) {
  // Two kinds of each model.
  for (const [part, tiny] of TINY_MODELS.filter((_, i) => i % 2 === kind % 2)) {
    Deno.test(`weights in ${what} train adapters like their widened values, ${part}`, () =>
      onEachDevice(async (device, exact) => {
        if (device.adapter !== undefined && !ON_WEBGPU.includes(part)) return;
        const config = roomy(tiny), limit = exact ? 1e-9 : 2e-4;
        const [stored, float] = await pair(device, config, weights, { trainable: "lora", lora });
        for (const { name, shape, storage, grad } of stored.parameters) {
          const frozen = shape.length === 2 && grad === null;
          const isTable = /embed_tokens|lm_head|wte|wpe/.test(name);
          const wanted = !frozen ? "float" : isTable ? table : linear;
          assert.equal(storage ?? "float", wanted, name);
        }
        assertSameStep(
          await trainStep(stored, groups, SLOPES),
          await trainStep(float, groups, SLOPES),
          limit,
        );
        stored.dispose();
        float.dispose();
      }));
  }
}

for (const adapter of [true, false]) {
  Deno.test(`stored weights generate the same as their widened values, adapter ${adapter}`, () =>
    onEachDevice(async (device) => {
      for (const [kind, weights] of KINDS) {
        if (isEmulated(device) && kind !== "blocks of 4 bits") continue;
        const config = roomy(tinyConfig(true));
        const models = await pair(device, config, weights, { trainable: "lora", lora });
        const texts = [];
        for (const model of models) {
          texts.push(
            await model.generate(
              groups.map(({ promptId, promptIds }) => ({ promptId, promptIds, n: 3 })),
              { maxNewTokens: 12, temperature: 0.8, seed: 4, eosIds: [], adapter },
            ),
          );
          model.dispose();
        }
        const [a, b] = texts.map((text) => text.flat());
        assert.deepEqual(a!.map(({ ids }) => ids), b!.map(({ ids }) => ids));
        a!.forEach(({ logprobs }, i) => assertWithin(logprobs, b![i]!.logprobs, 1e-3, "logprobs"));
      }
    }));
}

const blocksFile = goldenPath("ggml-blocks/tiny-llama.q8_0.gguf");
const halvesFolder = goldenPath("tiny-models/llama");

Deno.test("a file's bytes give its values, with the rows of queries and keys reordered", async () => {
  const { config, files } = await readModelFolder(blocksFile!);
  let stored = 0;
  for (const { name, shape } of modelTensors(config)) {
    const type = files.typeOf(name), [n, k] = shape;
    if (type === null) continue;
    stored++;
    const words = packStored(type, n!, k!, await files.bytes(name, shape));
    assert.deepEqual(unpackStored(type, n!, k!, words), await files.values(name, shape), name);
    await assert.rejects(files.bytes(name, [k!, n!, 1]), /has shape/);
  }
  assert.ok(stored >= 7 * config.numLayers, `${stored}`);
  const floats = await readModelFolder(halvesFolder!);
  assert.equal(floats.files.typeOf("model.norm.weight"), null);
  assert.equal(floats.files.typeOf("no.such.weight"), null);
});

const FROM_FILE = roomy(tinyConfig(false));
const blocks = (type: "q4_1" | "mxfp4" | "bf16" | null) => () => type;

Deno.test("options decide the type of frozen weights, or else their file does", () => {
  const large = { ...FROM_FILE, hiddenSize: 1024, intermediateSize: 4096 };
  const linears = 3 * 7, tables = 2;
  const types = (
    config: ModelConfig,
    options: StorageOptions,
    file: "q4_1" | "bf16" | null,
    trainable: "lora" | "full" | "none" = "lora",
  ) => [...planStorage(config, trainable, options, blocks(file)).values()].sort();
  const all = (type: string) => Array(linears + tables).fill(type);
  assert.deepEqual(types(large, {}, "q4_1"), all("q4_1"));
  assert.deepEqual(types(large, {}, null), []);
  assert.deepEqual(types(large, { dtype: "float32" }, "q4_1"), []);
  assert.deepEqual(types(large, { dtype: "bfloat16" }, "q4_1"), all("bf16"));
  assert.deepEqual(types(large, {}, "bf16", "full"), []);
  assert.deepEqual(types(large, { dtype: "bfloat16" }, "bf16", "full"), all("bf16"));
  const inBlocks = [...Array(tables).fill("bf16"), ...Array(linears).fill("nf4")];
  assert.deepEqual(types(large, { quantize: "nf4" }, "bf16"), inBlocks);
  // All its layers fit in a cache, so layers can be fused.
  assert.deepEqual(types(FROM_FILE, {}, "bf16"), []);
  assert.deepEqual(types(FROM_FILE, { dtype: "bfloat16" }, "bf16"), all("bf16"));
  // Rows that are not whole blocks.
  const odd = { ...large, intermediateSize: 4096 + 32 };
  assert.equal(types(odd, { quantize: "nf4" }, null).length, linears - 3);
});

Deno.test("a frozen copy has the halves of its file, and halves for what they hold exactly", () => {
  const typesOf = (file: "q4_1" | "mxfp4" | "bf16") =>
    new Set(copyStorage(FROM_FILE, new Map(), blocks(file)).values());
  assert.deepEqual(typesOf("bf16"), new Set(["bf16"]));
  assert.deepEqual(typesOf("mxfp4"), new Set(["bf16"]));
  assert.deepEqual(typesOf("q4_1"), new Set());
});

Deno.test("quantising trained weights, or weights in blocks, is refused", () => {
  const refused = (trainable: "lora" | "full", file: "q4_1" | null, message: RegExp) =>
    assert.throws(
      () => planStorage(FROM_FILE, trainable, { quantize: "nf4" }, blocks(file)),
      refusal(message, UsageError, { advice: /./ }),
    );
  refused("full", null, /load_in_4bit: full fine-tuning trains every weight/);
  refused("lora", "q4_1", /load_in_4bit: the model is quantised already: .* is stored as q4_1/);
});

Deno.test("weights outside the CPU device's memory give the same bits", async () => {
  const results = [];
  for (const weightRoom of [2 ** 31, 0]) {
    const device = await createWasmDevice({ threads: 2, weightRoom });
    try {
      for (const weights of [{}, { quantize: "nf4", dtype: "bfloat16" }] as const) {
        const config = roomy(tinyConfig(false));
        const source = initWeights(config, 5, 0.3);
        const model = await CausalLM.create(device, config, source, {
          trainable: "lora",
          lora,
          weights,
        });
        const before = device.allocatedBytes;
        const { logp, grads } = await trainStep(model, groups, SLOPES);
        const texts = await model.generate(
          groups.map(({ promptId, promptIds }) => ({ promptId, promptIds, n: 3 })),
          { maxNewTokens: 12, temperature: 0.8, seed: 4, eosIds: [] },
        );
        results.push([
          [...logp],
          [...grads],
          texts,
          await model.readParameter("lm_head.weight"),
          before,
        ]);
        model.dispose();
        assert.equal(device.allocatedBytes, 0);
      }
    } finally {
      device.close();
    }
  }
  assert.deepEqual(results.slice(2), results.slice(0, 2));
});
