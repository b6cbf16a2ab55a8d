/**
 * Damaged configurations: a config.json, an adapter_config.json, an index of shards and a
 * vocabulary with texts cut, values replaced and keys added give a usable result or an RgxError.
 */
import assert from "node:assert/strict";
import fc from "fast-check";
import { withFolder } from "../../core/testing.ts";
import { fitAdapter } from "../network/weights/adapter_fit.ts";
import { PEFT, SIZES } from "../adapter_testing.ts";
import { GgufFile } from "../formats/gguf/gguf.ts";
import { ggufConfig } from "../formats/gguf/gguf_config.ts";
import { ggufMetadata } from "../export/gguf_export.ts";
import { parseJsonObject } from "../../core/json_file.ts";
import { modelTensors } from "./mod.ts";
import { readPeftConfig, writePeftConfig } from "../network/adapters/peft_adapter.ts";
import { elementCount } from "../formats/element_count.ts";
import { encodeSafetensors } from "../formats/safetensors/safetensors_writer.ts";
import { parseSafetensors } from "../formats/safetensors/safetensors.ts";
import { readHfConfig, writeHfConfig } from "./hf_config.ts";
import { tokenizerFromVocabulary } from "../tokenizers/vocab_merges.ts";
import { tokenizerFromFiles } from "../tokenizers/tokenizer.ts";
import { accepted, editedText, mostAreRefused } from "../damage_testing.ts";
import type { ModelConfig } from "./model_config.ts";
import { openShards, SAFETENSORS } from "../formats/weight_files.ts";

const SHARE = { share: 1 / 4 };

/** Values that may replace another one. */
const value = fc.oneof(
  fc.constantFrom<unknown>(null, true, false, "", "x", [], {}, -1, 0, 0.5, 1, 2 ** 31, 2 ** 53),
  fc.constantFrom<unknown>(1e308, ["q_proj"], ".*", "(", [null], { a: 1 }, { a: "b" }, [[1]]),
  fc.constantFrom<unknown>("__proto__", "all-linear", "gaussian", "linear", "LORA", 1e-5, 3),
  fc.jsonValue() as fc.Arbitrary<unknown>,
);

/** An object with some values replaced, removed, or added under other names. */
function changed(whole: object): fc.Arbitrary<Record<string, unknown>> {
  const keys = [...Object.keys(whole), "__proto__", "constructor", "use_dora", "rope_scaling"];
  const edits = fc.array(fc.tuple(fc.constantFrom(...keys), fc.option(value, { nil: undefined })), {
    minLength: 1,
    maxLength: 3,
  });
  return edits.map((list) => {
    const copy = { ...whole } as Record<string, unknown>;
    for (const [key, put] of list) {
      if (put === undefined) delete copy[key];
      else Object.defineProperty(copy, key, { value: put, enumerable: true, configurable: true });
    }
    return copy;
  });
}

const CONFIGS = (["llama", "qwen2", "qwen3", "mistral", "gpt2"] as const).map((architecture) => {
  const modelConfig = { ...SIZES, architecture, numKvHeads: 4 };
  return JSON.parse(
    writeHfConfig({ modelConfig, bosId: 1, eosIds: [2, 3], padId: null }),
  ) as object;
});

/** A model whose tensors can be counted. */
function checkTensors(modelConfig: ModelConfig): void {
  if (modelConfig.numLayers > 100) return;
  for (const { name, shape } of modelTensors(modelConfig)) {
    assert.ok(shape.every((n) => Number.isSafeInteger(n) && n > 0), `${name} [${shape}]`);
  }
}

Deno.test("500 damaged config.json files give a countable model or are refused", () => {
  const read = (json: Record<string, unknown>) =>
    accepted(() => {
      const { modelConfig, eosIds } = readHfConfig(json, "config.json");
      assert.ok(eosIds.every(Number.isInteger));
      checkTensors(modelConfig);
    });
  return mostAreRefused(fc.oneof(...CONFIGS.map(changed)), read, SHARE);
});

/** Metadata that rgx writes for a model, and other metadata that such files may have. */
const GGUF = (["llama", "qwen3", "gpt2"] as const).map((architecture) => {
  const modelConfig = { ...SIZES, architecture, numKvHeads: 4 };
  const entries = [...ggufMetadata(modelConfig, "f32", "m", "m")].map((
    [key, [, value]],
  ) => [key, value]);
  const more = ["rope.scaling.type", "rope.scaling.factor", "expert_count", "vocab_size"];
  return {
    ...Object.fromEntries(more.map((key) => [`${architecture}.${key}`, undefined])),
    ...Object.fromEntries(entries),
  } as Record<string, unknown>;
});

Deno.test("500 sets of GGUF metadata give a countable model or are refused", () => {
  const noBytes = { size: 0, read: () => Promise.reject(new Error("nothing is read")) };
  const type = { name: "F32", weights: 1, bytes: 4 };
  const read = ([metadata, shape]: [Record<string, unknown>, number[]]) => {
    const name = "token_embd.weight", tensor = { name, shape, type, begin: 0, end: 0 };
    const given = Object.entries(metadata).filter(([, value]) => value !== undefined);
    const entries = new Map(given) as ConstructorParameters<typeof GgufFile>[1];
    return accepted(() => {
      const tensors = new Map([[name, tensor]]);
      const file = new GgufFile("m.gguf", entries, tensors as never, noBytes as never);
      const json = ggufConfig(file, { bosId: null, eosIds: [], padId: null }, null);
      checkTensors(readHfConfig(json, "m.gguf").modelConfig);
    });
  };
  const shapes = fc.array(fc.nat(100), { maxLength: 3 });
  return mostAreRefused(fc.tuple(fc.oneof(...GGUF.map(changed)), shapes), read, SHARE);
});

const tensor = fc.record({
  module: fc.constantFrom("self_attn.q_proj", "mlp.up_proj", "lm_head", "constructor"),
  layer: fc.nat(3),
  half: fc.constantFrom("lora_A", "lora_B", "modules_to_save"),
  shape: fc.array(fc.constantFrom(1, 2, 4, 32, 64), { maxLength: 3 }),
}).map(({ module, layer, half, shape }) => ({
  name: `base_model.model.model.layers.${layer}.${module}.${half}.weight`,
  shape,
}));

Deno.test("500 damaged adapters load onto a base or are refused", async () => {
  const whole = JSON.parse(writePeftConfig({ ...PEFT, modulesToSave: ["lm_head"] }));
  const read = async (
    [json, list]: [Record<string, unknown>, { name: string; shape: number[] }[]],
  ) => {
    const byName = new Map(list.map(({ name, shape }) => [name, shape]));
    const weights = await parseSafetensors(
      encodeSafetensors([...byName].map(([name, shape]) => ({
        name,
        shape,
        dtype: "F32" as const,
        data: new Float32Array(elementCount(shape)),
      }))),
    );
    const done = await accepted(() => {
      const config = readPeftConfig(json, "adapter_config.json");
      readPeftConfig(parseJsonObject(writePeftConfig(config), "again"), "again");
      fitAdapter({ config, weights }, SIZES, "base");
    });
    assert.equal(done, false, "these tensors are no whole adapter");
    return await accepted(() => readPeftConfig(json, "adapter_config.json"));
  };
  await mostAreRefused(fc.tuple(changed(whole), fc.array(tensor, { maxLength: 4 })), read, SHARE);
});

const PUTS = ["", "0", "-1", "null", "[]", "{}", '"', ",", "..", "/", " ", "\n", "é"];
const edited = (text: string) => editedText(text, PUTS, 3);

Deno.test("500 damaged shard indices are read or refused", () =>
  withFolder(async (folder) => {
    const map: Record<string, string> = {};
    for (const n of [1, 2]) {
      const name = `model-0000${n}-of-00002.safetensors`;
      map[`t.${n}`] = name;
      const one = {
        name: `t.${n}`,
        dtype: "F32" as const,
        shape: [2],
        data: Float32Array.of(n, n),
      };
      await Deno.writeFile(`${folder}/${name}`, encodeSafetensors([one]));
    }
    const index = JSON.stringify({ metadata: { total_size: 16 }, weight_map: map });
    const read = (text: string) =>
      accepted(async () => {
        await Deno.writeTextFile(`${folder}/${SAFETENSORS.index}`, text);
        for (const [name, file] of await openShards(folder, SAFETENSORS)) await file.float32(name);
      });
    await mostAreRefused(edited(index), read, {});
  }));

Deno.test("500 damaged vocab.json and merges.txt are usable or refused", () =>
  withFolder(async (folder) => {
    const vocab = JSON.stringify({ a: 0, b: 1, ab: 2, "<|endoftext|>": 3, "Ġ": 4, "Ġa": 5 });
    const merges = "#version: 0.2\na b\nĠ a\n";
    const config = new Map([["tokenizer_config.json", `{"tokenizer_class":"GPT2Tokenizer"}`]]);
    const write = async (v: string, m: string) => {
      await Deno.writeTextFile(`${folder}/vocab.json`, v);
      await Deno.writeTextFile(`${folder}/merges.txt`, m);
    };
    const use = () =>
      accepted(async () => {
        const tokenizer = tokenizerFromFiles(await tokenizerFromVocabulary(folder, config), "t");
        tokenizer.decode(tokenizer.encode("ab a<|endoftext|>"));
      });
    await write(vocab, merges);
    assert.ok(await use());
    const damaged = fc.tuple(edited(vocab), edited(merges), fc.nat(2));
    await mostAreRefused(damaged, async ([v, m, which]) => {
      await write(which === 0 ? vocab : v, which === 1 ? merges : m);
      return await use();
    }, {});
  }));
