/**
 * Tokenizers as GGUF metadata and back: with scores, of single characters; and tokenizers that are
 * refused. (Those of each splitting rule are in families_tokenizers_test.ts.)
 */
import assert from "node:assert/strict";
import { UsageError } from "../../core/errors.ts";
import { refusal } from "../../core/testing.ts";
import { memorySource } from "../formats/byte_source.ts";
import { createCharacterTokenizer } from "../tokenizers/character_tokenizer.ts";
import { GgufFile } from "../formats/gguf/gguf.ts";
import { ggufTokenizer } from "../formats/gguf/gguf_tokenizer.ts";
import { ggufTokenizerMetadata, putsSpaceTwice } from "./gguf_tokenizer_export.ts";
import type { GgufMetadata } from "../formats/gguf/gguf_writer.ts";
import { loadTokenizer, tokenizerFromFiles } from "../tokenizers/tokenizer.ts";
import type { Tokenizer } from "../tokenizers/types.ts";
import { goldenPath } from "../../tests/golden.ts";

const IDS = { bosId: null, padId: null, generationEosIds: [], where: "m" };

function read(metadata: GgufMetadata) {
  const values = new Map([...metadata].map(([key, [, value]]) => [key, value] as const));
  return ggufTokenizer(new GgufFile("m", values, new Map(), memorySource(new Uint8Array())))!;
}

Deno.test("pieces get scores in the order of their merges, in the older and the newer format", async () => {
  const tokenizer = await loadTokenizer(goldenPath("models/tinystories-656k"));
  const write = (tokenizer: Tokenizer) =>
    ggufTokenizerMetadata({
      ...IDS,
      tokenizer,
      vocabSize: tokenizer.vocabSize,
      bosId: 1,
      generationEosIds: [2],
    });
  const metadata = write(tokenizer), found = read(metadata);
  assert.deepEqual(metadata.get("tokenizer.ggml.model"), ["string", "llama"]);
  assert.deepEqual([found.bosId, found.eosIds], [1, [2]]);
  const json = JSON.parse(tokenizer.files().get("tokenizer.json")!);
  const pre = { type: "Metaspace", replacement: "▁", prepend_scheme: "first", split: false };
  const text = JSON.stringify({ ...json, normalizer: null, pre_tokenizer: pre });
  const newer = tokenizerFromFiles(new Map(tokenizer.files()).set("tokenizer.json", text), "m");
  assert.deepEqual([...write(newer)], [...metadata]);
  const twice = [tokenizer, newer].map((one) => putsSpaceTwice(one, metadata));
  assert.deepEqual(twice, [false, true]);
});

const characters = createCharacterTokenizer({
  alphabet: "abc <>",
  special_tokens: ["<pad>", "<unk>", "<eos>", "<answer>"],
});

Deno.test("single characters, all end tokens, and added tokens that are not special", () => {
  const metadata = ggufTokenizerMetadata({
    ...IDS,
    tokenizer: characters,
    vocabSize: 12,
    padId: 0,
    generationEosIds: [4, 2, 5],
  });
  const found = read(metadata), back = tokenizerFromFiles(found.files, "back");
  assert.deepEqual([found.eosIds, found.padId, found.bosId], [[2, 4, 5], 0, null]);
  const ids = characters.encode("<answer>a  b<eos>");
  assert.deepEqual(back.encode("<answer>a  b<eos>"), ids);
  assert.equal(back.decode(ids, { skipSpecialTokens: true }), "<answer>a  b");
  assert.deepEqual(metadata.get("tokenizer.ggml.add_bos_token"), ["bool", false]);
});

Deno.test("a token that only tokenizer_config.json names is special in a GGUF file, too", () => {
  const json = JSON.parse(characters.files().get("tokenizer.json")!);
  const added = json.added_tokens.filter(({ content }: { content: string }) => content !== "<eos>");
  const files = new Map(characters.files())
    .set("tokenizer.json", JSON.stringify({ ...json, added_tokens: added }));
  const tokenizer = tokenizerFromFiles(files, "m");
  const metadata = ggufTokenizerMetadata({ ...IDS, tokenizer, vocabSize: 12 });
  const kinds = metadata.get("tokenizer.ggml.token_type")![1] as number[];
  assert.equal(kinds[tokenizer.eosId!], 3);
});

Deno.test("ids beyond the vocabulary are left out", () => {
  const metadata = ggufTokenizerMetadata({
    ...IDS,
    tokenizer: characters,
    vocabSize: 12,
    bosId: 50256,
    padId: 50256,
    generationEosIds: [50256, 2],
  });
  const found = read(metadata);
  assert.deepEqual([found.eosIds, found.padId, found.bosId], [[2], null, null]);
});

Deno.test("a tokenizer that would give other ids when read back is refused", () => {
  const json = JSON.parse(characters.files().get("tokenizer.json")!);
  const refused = (change: Record<string, unknown>, message: RegExp, more = {}) => {
    const files = new Map([["tokenizer.json", JSON.stringify({ ...json, ...change })]]);
    const tokenizer = tokenizerFromFiles(files, "m");
    const where = "m: the tokenizer cannot be put into a GGUF file: ";
    assert.throws(
      () => ggufTokenizerMetadata({ ...IDS, tokenizer, vocabSize: 10, ...more }),
      refusal(message, UsageError, { where }),
    );
  };
  const byteLevel = { type: "ByteLevel", add_prefix_space: true, use_regex: true };
  refused({ pre_tokenizer: byteLevel }, /the rule by which it splits text has no name/);
  refused({ pre_tokenizer: { type: "Whitespace" } }, /neither byte-level BPE nor SentencePiece/);
  refused({ normalizer: { type: "Lowercase" } }, /neither byte-level BPE/);
  refused({}, /token 9 is beyond the model's 9/, { vocabSize: 9 });
  refused({}, /4 ids end a text, it holds 3/, { generationEosIds: [2, 3, 4, 5] });
  const single = [{ SpecialToken: { id: "<pad>", type_id: 0 } }, {
    Sequence: { id: "A", type_id: 0 },
  }];
  refused({
    post_processor: {
      type: "TemplateProcessing",
      single,
      pair: single,
      special_tokens: { "<pad>": { id: "<pad>", ids: [0], tokens: ["<pad>"] } },
    },
  }, /it puts other tokens around a text/);
  // "ab" is a piece, but no merge makes it.
  refused({ model: { ...json.model, vocab: { ...json.model.vocab, ab: 10 } } }, /would become/, {
    vocabSize: 11,
  });
});
