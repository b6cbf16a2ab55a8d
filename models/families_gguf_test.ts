/**
 * GGUF files of the newer families: those that llama.cpp's converter made of the tiny golden models
 * (tests/golden/families/record_gguf.py), and those that rgx writes. Both are read as the model
 * itself.
 */
import assert from "node:assert/strict";
import { namesIn, withFolder } from "../core/testing.ts";
import { assertWithin, largest, normals, stream } from "../kernels/testing.ts";
import { quantizeQ6K } from "../kernels/weights/quantize_k.ts";
import { goldenPath, readGoldenJson } from "../tests/golden.ts";
import type { ModelConfig } from "./architectures/model_config.ts";
import { CausalLM } from "./causal_lm.ts";
import { readSafetensors } from "./formats/safetensors/safetensors.ts";
import { withReference } from "./testing.ts";
import { modelTensors } from "./architectures/mod.ts";
import { exportModel } from "./export/export.ts";
import { readGguf } from "./formats/gguf/gguf.ts";
import { fitAdapter } from "./network/weights/adapter_fit.ts";
import { readGgufAdapter } from "./network/weights/gguf_adapter.ts";
import { ggufMetadata, ggufTensors } from "./export/gguf_export.ts";
import { mergedWeights } from "./export/merged_weights.ts";
import { type GgufTensorToWrite, type GgufWritten, writeGguf } from "./formats/gguf/gguf_writer.ts";
import { type ModelFolder, readAdapter, readModelFolder } from "./model_folder.ts";

/** What a file says in another way, or rounded to float32, as the folder says it. */
function asInFolder(found: ModelConfig, wanted: ModelConfig): ModelConfig {
  const { scalars } = wanted, close = (a: number, b: number) => Math.abs(a - b) < 1e-6 * b;
  const entries = Object.entries(found.scalars ?? {}) as [keyof typeof scalars, number][];
  const same = entries.every(([name, value]) => close(value, scalars?.[name] ?? value));
  const { ropeScaling: scaling } = found, factor = wanted.ropeScaling;
  const isLong = scaling?.type === "longrope" && factor?.type === "longrope";
  return {
    ...found,
    ...(same && scalars !== undefined ? { scalars } : {}),
    ropeScaling: isLong ? { ...scaling, attentionFactor: factor.attentionFactor } : scaling,
  };
}

/** Writes what rgx makes of a model, with another configuration where one is given. */
async function writeOwn(path: string, model: ModelFolder, config = model.config): Promise<void> {
  const tensors = ggufTensors(config, mergedWeights(model), "f32");
  await writeGguf(path, ggufMetadata(config, "f32", "m", path), tensors);
}

async function assertSame(found: ModelFolder, wanted: ModelFolder, config: ModelConfig) {
  assert.deepEqual(asInFolder(found.config, config), config);
  for (const { name, shape } of modelTensors(config)) {
    const values = (await wanted.files.values(name, shape))!;
    assertWithin((await found.files.values(name, shape))!, values, 1e-6, name);
  }
}

/** All that are recorded, but for models that also see, which are other ones with a wrapper. */
const ALL = namesIn(goldenPath("families")).filter((name) =>
  !/\.|^(gemma4|mistral3|qwen3_5)$/.test(name)
);
/** A dense Granite 4 is a Granite (below), and Gemma 3 has the text part of its own. */
const FAMILIES = ALL.filter((name) => !["gemma3", "granitemoehybrid"].includes(name));
assert.equal(FAMILIES.length, 14);
/** Those of which there is no file by llama.cpp's converter. */
const OWN = ["qwen3_moe", "mixtral", "gpt_oss"];

for (const family of FAMILIES) {
  const folder = goldenPath(`families/${family}`);
  Deno.test(`a GGUF file of ${family}, by llama.cpp or by rgx, is the model itself`, () =>
    withFolder(async (temporary) => {
      const original = await readModelFolder(folder);
      // No file says the scale of Gemma's scores.
      const { scalars, ...rest } = original.config, { headDim } = rest;
      const config = family === "gemma3_text" || family === "gemma2"
        ? { ...rest, scalars: { ...scalars, attention: headDim ** -0.5 } }
        : family === "gpt_oss"
        ? { ...original.config, swigluLimit: 7 }
        : original.config;
      if (!OWN.includes(family)) {
        await assertSame(await readModelFolder(`${folder}/model.gguf`), original, config);
      }
      const path = `${temporary}/own.gguf`;
      await writeOwn(path, original, config);
      const own = await readModelFolder(path);
      await assertSame(own, original, config);
      if (!OWN.includes(family)) return;
      // The matrices of experts are read part by part as well.
      for (const { name, shape } of modelTensors(config)) {
        const bytes = await own.files.bytes(name, shape), part = new Uint8Array(100);
        if (bytes.length < 160 || !await own.files.bytesInto!(name, shape, 60, part)) continue;
        assert.deepEqual(part, bytes.slice(60, 160), name);
      }
    }));
}

/** The values of a tensor that is to be written. */
async function written({ bytes, shape }: GgufTensorToWrite): Promise<Float32Array> {
  const out = new Uint8Array(4 * shape.reduce((a, b) => a * b, 1));
  let at = 0;
  for await (const piece of bytes()) {
    out.set(piece, at);
    at += piece.length;
  }
  return new Float32Array(out.buffer);
}

for (const family of ALL) {
  const folder = goldenPath(`families/${family}/adapter`);
  Deno.test(`an adapter of ${family} as a GGUF file has the rows of the model's, and is read again`, () =>
    withFolder(async (temporary) => {
      const output = `${temporary}/adapter.gguf`;
      await exportModel(folder, { to: "adapter", output });
      const file = await readGguf(output), model = await readModelFolder(folder);
      const { config, path: base } = model;
      const alpha = Number(file.metadata.get("adapter.lora.alpha"));
      const merged = ggufTensors(config, mergedWeights(model), "f32");
      const plain = ggufTensors(config, mergedWeights({ ...model, adapter: null }), "f32");
      const left = new Set(file.tensors.keys());
      for (const [i, tensor] of merged.entries()) {
        const pair = ["a", "b"].map((x) => `${tensor.name}.lora_${x}`);
        if (!pair.every((name) => left.delete(name))) continue;
        const [a, b] = await Promise.all(pair.map((name) => file.float32(name)));
        const [theirs, ours] = await Promise.all([tensor, plain[i]!].map(written));
        const wanted = theirs!.map((x, i) => x - ours![i]!), width = tensor.shape.at(-1)!;
        const [out, rank] = file.info(pair[1]!).shape.slice(-2) as [number, number];
        const found = wanted.map((_, i) => {
          const row = Math.floor(i / width), first = Math.floor(row / out) * rank;
          let sum = 0;
          for (let k = 0; k < rank; k++) {
            sum += b![row * rank + k]! * a![(first + k) * width + i % width]!;
          }
          return alpha / rank * sum;
        });
        assertWithin(found, wanted, 1e-6, tensor.name);
        assert.ok(largest(wanted) > 1e-4, tensor.name);
      }
      assert.deepEqual([...left], []);
      const again = await readModelFolder(base, output);
      const names = ({ adapter }: ModelFolder) => [...adapter!.weights.tensors.keys()].sort();
      assert.deepEqual(names(again), names(model));
      const read = mergedWeights(again), original = mergedWeights(model);
      for (const { name, shape } of modelTensors(config)) {
        assertWithin(await read(name, shape), await original(name, shape), 1e-6, name);
      }
      const wider = { ...config, hiddenSize: 2 * config.hiddenSize };
      await assert.rejects(readGgufAdapter(file, wider), /has shape .*, the base needs/);
      await assert.rejects(
        readModelFolder(output),
        /it is an adapter, which does not name its base/,
      );
    }));
}

Deno.test("a GGUF file that is no adapter of its base is refused, and says what is wrong", () =>
  withFolder(async (temporary) => {
    const folder = goldenPath("families/smollm3/adapter"), path = `${temporary}/adapter.gguf`;
    await exportModel(folder, { to: "adapter", output: path });
    const { metadata, tensors } = await readGguf(path),
      { config, files } = await readModelFolder(folder);
    const all = [...tensors.values()],
      [a, b] = all.map(({ shape }) => shape) as [number[], number[]];
    const attempt = async (
      change: {
        keys?: Record<string, GgufWritten>;
        shapes?: number[][];
        from?: number;
        name?: string;
      },
    ) => {
      const texts = ["general.architecture", "general.type", "adapter.type"]
        .map((key) => [key, ["string", String(metadata.get(key))]] as const);
      const keys = new Map<string, GgufWritten>([...texts, ["adapter.lora.alpha", ["f32", 4]]]);
      for (const [key, value] of Object.entries(change.keys ?? {})) keys.set(key, value);
      const written = all.slice(change.from).map(({ name }, i): GgufTensorToWrite => {
        const shape = change.shapes?.[i] ?? tensors.get(name)!.shape;
        const bytes = async function* () {
          yield await Promise.resolve(new Uint8Array(4 * shape.reduce((x, y) => x * y, 1)));
        };
        return { name: i === 0 ? change.name ?? name : name, type: "f32", shape, bytes };
      });
      await writeGguf(path, keys, written);
      fitAdapter(await readAdapter(path, { config, files, path: folder }), config, folder);
    };
    await attempt({});
    await attempt({ from: all.length - 2 });
    const cases: [Parameters<typeof attempt>[0], RegExp][] = [
      [{ keys: { "general.architecture": ["string", "llama"] } }, /is "llama", expected "smollm3"/],
      [{ keys: { "general.type": ["string", "model"] } }, /general.type is "model"/],
      [{ keys: { "adapter.type": ["string", "x"] } }, /adapter.type is "x", expected "lora"/],
      [{ keys: { "adapter.lora.alpha": ["f32", 0] } }, /alpha is 0, expected a positive number/],
      [{ keys: { "adapter.lora.alpha": ["f32", Infinity] } }, /alpha is Infinity, expected/],
      [{ from: 1 }, /"blk.0.attn_q.weight.lora_b" is not understood, or its pair is missing/],
      [{ name: "token_embd.weight.lora_a" }, /"token_embd.weight.lora_a" is not understood/],
      [{ from: all.length }, /it holds no pair of matrices/],
      [{ shapes: [[5]] }, /has shape \[5\], the base needs/],
      [{ shapes: [[2, ...a]] }, /has shape \[2,2,16\], the base needs \[2,16\]/],
      [{ shapes: [[3, a[1]!]] }, /lora_b" has shape \[16,2\], the base needs \[16,3\]/],
      [{ shapes: [[0, a[1]!], [b[0]!, 0]] }, /rank r must be an integer of at least 1, got 0/],
    ];
    for (const [change, message] of cases) await assert.rejects(attempt(change), message);
  }));

Deno.test("a GGUF file of a dense Granite 4, by llama.cpp or by rgx, is a Granite with its logits", () =>
  withFolder(async (temporary) => {
    const folder = goldenPath("families/granitemoehybrid");
    const original = await readModelFolder(folder);
    const path = `${temporary}/own.gguf`;
    await writeOwn(path, original);
    const { input_ids: [ids] } = readGoldenJson<{ input_ids: number[][] }>(
      "families/granitemoehybrid/expected.json",
    );
    const golden = await readSafetensors(`${folder}/expected.safetensors`);
    const wanted = await golden.float64("logits64.0");
    await withReference(async (device) => {
      for (const file of [`${folder}/model.gguf`, path]) {
        const { config, files } = await readModelFolder(file);
        assert.equal(config.architecture, "granite");
        const model = await CausalLM.create(device, config, files, { trainable: "none" });
        const found = await model.lastLogits(ids!);
        assertWithin(found, wanted.subarray(-config.vocabSize), 2e-5, file);
        model.dispose();
      }
    });
  }));

Deno.test("the last projection of each expert is quantised by the importance of its own columns", async () => {
  const { config: mixture } = await readModelFolder(goldenPath("families/qwen3_moe"));
  const config = { ...mixture, numLayers: 1, intermediateSize: 256 }, { count } = config.experts!;
  const random = stream("experts"), size = 256 * config.hiddenSize;
  const columns = normals(random, 256 * count).map((x) => x ** 4);
  const values = normals(random, size * count), name = "blk.0.ffn_down_exps.weight";
  const weights = () => Promise.resolve(values), importance = new Map([[name, columns]]);
  const written: number[] = [];
  const tensors = ggufTensors(config, weights, "q6_k", importance);
  for await (const piece of tensors.find((tensor) => tensor.name === name)!.bytes()) {
    written.push(...piece);
  }
  const wanted = Array.from({ length: count }, (_, e) => {
    const each = Float32Array.from({ length: size }, (_, i) => columns[256 * e + i % 256]!);
    return [...quantizeQ6K(values.subarray(e * size, (e + 1) * size), each)];
  });
  assert.deepEqual(written, wanted.flat());
});

Deno.test("biases stay float32 in a GGUF file of any type, as llama.cpp reads them", async () => {
  const model = await readModelFolder(goldenPath("families/gpt_oss")), { config } = model;
  const biases = ggufTensors(config, mergedWeights(model), "f16")
    .filter(({ name }) => name.endsWith(".bias"));
  assert.equal(biases.length, 8 * config.numLayers);
  assert.deepEqual(new Set(biases.map(({ type }) => type)), new Set(["f32"]));
});

Deno.test("a GGUF file of a gpt_oss without a RoPE scaling, or with a linear one, says so", () =>
  withFolder(async (temporary) => {
    const original = await readModelFolder(goldenPath("families/gpt_oss"));
    for (const ropeScaling of [null, { type: "linear", factor: 4 } as const]) {
      const config = { ...original.config, swigluLimit: 7, ropeScaling };
      const path = `${temporary}/own.gguf`;
      await writeOwn(path, original, config);
      assert.deepEqual((await readModelFolder(path)).config.ropeScaling, ropeScaling);
    }
  }));

Deno.test("what a GGUF file cannot say is refused", async () => {
  const { config: smollm3 } = await readModelFolder(goldenPath("families/smollm3"));
  const { config: gemma } = await readModelFolder(goldenPath("families/gemma3_text"));
  const { config: gemma2 } = await readModelFolder(goldenPath("families/gemma2"));
  const { config: hybrid } = await readModelFolder(goldenPath("families/granitemoehybrid"));
  const { config: ministral3 } = await readModelFolder(goldenPath("families/ministral3"));
  const { config: mixture } = await readModelFolder(goldenPath("families/qwen3_moe"));
  const cases: [ModelConfig, RegExp][] = [
    [
      { ...mixture, experts: { ...mixture.experts!, normalize: false } },
      /divides the gates of experts by their sum/,
    ],
    [{ ...smollm3, unrotated: [0] }, /it cannot be exported to GGUF: .* every fourth layer/],
    [gemma, /its scores are not divided by the root of a head's width/],
    [{ ...ministral3, ropeScaling: null }, /its RoPE scaling is not yarn/],
    [{ ...gemma2, layerTypes: gemma2.layerTypes!.toReversed() }, /every second layer a window/],
    [{ ...gemma2, softCaps: { attention: 50 } }, /one of its soft caps is not set/],
    [{ ...hybrid, unrotated: [0, 1, 2, 3] }, /rotates the layers of a dense Granite/],
    [
      { ...smollm3, architecture: "qwen3", slidingWindow: 4, layerTypes: ["full", "sliding"] },
      /its layers have different windows/,
    ],
  ];
  for (const [config, message] of cases) {
    assert.throws(() => ggufMetadata(config, "f32", "m", "m.gguf"), message);
  }
});
