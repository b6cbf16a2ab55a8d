import assert from "node:assert/strict";
import { refusal, test, writeFiles } from "../core/testing.ts";
import { RgxError, UsageError } from "../core/errors.ts";
import { createCharacterTokenizer } from "./tokenizers/character_tokenizer.ts";
import { PEFT } from "./adapter_testing.ts";
import { encodeModelFolder, encodePeftAdapter, type ModelToWrite } from "./folder_testing.ts";
import { tinyConfig } from "./testing.ts";
import { readModelFolder } from "./model_folder.ts";
import { encodeSafetensors } from "./formats/safetensors/safetensors_writer.ts";
import { goldenPath } from "../tests/golden.ts";

const shared = goldenPath("");

const tokenizer = createCharacterTokenizer({
  alphabet: "abc",
  special_tokens: ["<pad>", "<unk>", "<eos>"],
});

/** The tensors are incomplete: the tests need only the files of the folder. */
const model: ModelToWrite = {
  config: { ...tinyConfig(true), vocabSize: 6, hiddenSize: 4, numLayers: 1 },
  tensors: [
    {
      name: "model.embed_tokens.weight",
      shape: [6, 4],
      data: Float32Array.from({ length: 24 }, (_, i) => i),
    },
    { name: "model.norm.weight", shape: [4], data: new Float64Array([1, 2, 3, 4]) },
  ],
  tokenizer,
  generationEosIds: [2],
  bosId: null,
  padId: 0,
};

const write = (folder: string, files: ReadonlyMap<string, Uint8Array>) =>
  writeFiles(folder, Object.fromEntries(files));

function refused(path: string, message: RegExp, advice = /(?:)/): Promise<void> {
  return assert.rejects(readModelFolder(path), refusal(message, RgxError, { advice }));
}

Deno.test("tinystories-656k: the file's head is the embedding", async () => {
  const folder = await readModelFolder(`${shared}models/tinystories-656k`);
  assert.equal(folder.config.numKvHeads, 4);
  assert.equal(folder.config.headDim, 16);
  assert.equal(folder.config.tieWordEmbeddings, true);
  assert.deepEqual(folder.generationEosIds, [2]);
  assert.equal(folder.tokenizer?.vocabSize, 2048);
  const embedding = await folder.files.values("model.embed_tokens.weight", [2048, 128]);
  assert.deepEqual(embedding, await folder.files.values("lm_head.weight", [2048, 128]));
  assert.ok(embedding!.some((v) => v !== 0));
  assert.equal(await folder.files.values("model.layers.2.input_layernorm.weight", [128]), null);
  await assert.rejects(
    folder.files.values("model.norm.weight", [64]),
    /"model\.norm\.weight" has shape \[128\], expected \[64\]/,
  );
});

Deno.test("an adapter folder counts as a model: its base is found relative to it", async () => {
  const folder = await readModelFolder(`${shared}trl-step/adapter`);
  assert.equal(folder.config.vocabSize, 2048);
  assert.equal(folder.adapter?.config.r, 4);
  assert.equal(folder.tokenizer?.vocabSize, 2048);
});

test.inFolder("shards are put together by their index, and names may lack their prefix", async (folder) => {
  const files = await encodeModelFolder(model);
  files.delete("model.safetensors");
  const ones = new Float32Array(4).fill(1);
  const shard = (name: string) =>
    encodeSafetensors([{ name, dtype: "F32", shape: [4], data: ones }]);
  files.set("model-00001-of-00002.safetensors", shard("norm.weight"));
  files.set("model-00002-of-00002.safetensors", shard("layers.0.input_layernorm.weight"));
  const index = (map: Record<string, unknown>) =>
    new TextEncoder().encode(JSON.stringify({ metadata: {}, weight_map: map }));
  const good = {
    "norm.weight": "model-00001-of-00002.safetensors",
    "layers.0.input_layernorm.weight": "model-00002-of-00002.safetensors",
  };
  files.set("model.safetensors.index.json", index(good));
  await write(folder, files);
  const read = await readModelFolder(folder);
  assert.deepEqual(await read.files.values("model.norm.weight", [4]), ones);
  assert.deepEqual(await read.files.values("model.layers.0.input_layernorm.weight", [4]), ones);

  const path = `${folder}/model.safetensors.index.json`;
  for (
    const [map, message] of [
      [{ "norm.weight": "../model.safetensors" }, /is said to be in "\.\.\/model/],
      [{ other: good["norm.weight"] }, /tensor "other" is not in it/],
      [{ other: "model-00003-of-00003.safetensors" }, /00003.*: no such file/],
    ] as const
  ) {
    await Deno.writeFile(path, index(map));
    await refused(folder, message);
  }
  await Deno.writeTextFile(path, "{}");
  await refused(folder, /no "weight_map" in it/);
});

test.inFolder("adapters with and without a base, on an adapter, with their own tokenizer", async (root) => {
  const adapter = (baseModel: string | null) => encodePeftAdapter({ ...PEFT, baseModel }, []);
  await write(`${root}/base`, await encodeModelFolder({ ...model, tokenizer: null }));
  const files = await adapter("../base");
  for (const [name, text] of tokenizer.files()) files.set(name, new TextEncoder().encode(text));
  await write(`${root}/a`, files);
  const read = await readModelFolder(`${root}/a`);
  assert.equal(read.path, `${root}/a/../base`);
  assert.equal(read.tokenizer?.vocabSize, 6);
  assert.deepEqual(read.generationEosIds, [2]);

  await write(`${root}/absolute`, await adapter(`${root}/base`));
  assert.ok((await readModelFolder(`${root}/absolute`)).adapter);
  await write(`${root}/nested`, await adapter("../a"));
  await refused(`${root}/nested`, /its base model .* is an adapter itself/);
  await write(`${root}/lost`, await adapter("some/model"));
  await refused(`${root}/lost`, /looked for .*\/lost\/some\/model and some\/model/);
  // A run's base is named as where it was started, which run.json says.
  await write(`${root}/run/checkpoint-4`, await adapter("./base"));
  await refused(`${root}/run/checkpoint-4`, /base model "\.\/base" is not there/);
  const run = JSON.stringify({ working_directory: root });
  await Deno.writeTextFile(`${root}/run/run.json`, run);
  assert.equal((await readModelFolder(`${root}/run/checkpoint-4`)).path, `${root}/./base`);
  await write(`${root}/silent`, await adapter(null));
  await refused(`${root}/silent`, /names no base_model_name_or_path/);
});

test.inFolder("a folder that is not a model is refused with an explanation", async (root) => {
  await refused(`${root}/none`, /none: no such model folder/);
  await Deno.writeTextFile(`${root}/model.gguf`, "GGUF");
  await refused(`${root}/model.gguf`, /model\.gguf: not a valid GGUF file/, /again/);
  await refused(root, /it holds a GGUF file/, /Name the file: .*model\.gguf/);
  await Deno.mkdir(`${root}/run`);
  await refused(`${root}/run`, /looked for config\.json and adapter_config\.json/);
  await Deno.writeTextFile(`${root}/run/run.json`, "{}");
  await refused(`${root}/run`, /the run has no checkpoint yet/, /train .*--resume/);
  const files = await encodeModelFolder(model);
  files.delete("model.safetensors");
  await write(`${root}/pickle`, files);
  await refused(`${root}/pickle`, /no weights: looked for model\.safetensors, model\.safe/);
  await Deno.writeTextFile(`${root}/pickle/pytorch_model.bin`, "");
  await refused(`${root}/pickle`, /pytorch_model\.bin: not valid PyTorch weights: it is empty/);
  await write(
    `${root}/vocab`,
    await encodeModelFolder({ ...model, config: { ...model.config, vocabSize: 4 } }),
  );
  await refused(`${root}/vocab`, /the tokenizer has 6 ids, the model's vocab_size is 4/);
  await Deno.writeTextFile(`${root}/vocab/config.json`, "{");
  await refused(`${root}/vocab`, /config\.json: not valid JSON/);
  await assert.rejects(readModelFolder(`${root}/none`), UsageError);
});

test.inFolder("the error about an incomplete copy from the Hub has the command to complete it", async (root) => {
  const before = Deno.env.get("HF_HUB_CACHE");
  Deno.env.set("HF_HUB_CACHE", root);
  try {
    const files = await encodeModelFolder(model);
    files.delete("model.safetensors");
    await write(`${root}/models--org--part/snapshots/${"a".repeat(40)}`, files);
    await refused(
      "org/part",
      /no weights: looked for/,
      /Is its download complete\? .*rgx pull org\/part/,
    );
  } finally {
    if (before === undefined) Deno.env.delete("HF_HUB_CACHE");
    else Deno.env.set("HF_HUB_CACHE", before);
  }
});
