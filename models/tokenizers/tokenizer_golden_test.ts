/** Tokenizers in GGUF metadata and `vocab.json`, and special tokens in the contents of a chat. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { ggufTokenizer } from "../formats/gguf/gguf_tokenizer.ts";
import { parseGguf } from "../formats/gguf/gguf.ts";
import { encodeTestGguf, type TestMetadata } from "../formats/gguf/testing.ts";
import { goldenPath } from "../../tests/golden.ts";
import { splittingName } from "./make_tokenizer_json.ts";
import { loadTokenizer, tokenizerFromFiles } from "./tokenizer.ts";
import { tokenizerFromVocabulary } from "./vocab_merges.ts";
import { cases } from "../../tests/cases.ts";

interface TokenizerJson {
  added_tokens: { id: number; content: string; special: boolean }[];
  model: { vocab: Record<string, number>; merges: string[] };
}

Deno.test("SentencePiece pieces in GGUF metadata give the ids of the tokenizer.json they came from", async () => {
  const folder = goldenPath("models/stories260k");
  const original = await loadTokenizer(folder);
  const json: TokenizerJson = JSON.parse(await Deno.readTextFile(`${folder}/tokenizer.json`));
  const tokens: string[] = [];
  for (const [token, id] of Object.entries(json.model.vocab)) tokens[id] = token;
  const rank = new Map<string, number>();
  json.model.merges.forEach((merge, i) => {
    const piece = merge.replace(" ", "");
    if (!rank.has(piece)) rank.set(piece, i);
  });
  const kind = (token: string, id: number) =>
    id === 0 ? 2 : id < 3 ? 3 : /^<0x..>$/.test(token) ? 6 : 1;
  const make = async (change: TestMetadata) => {
    const file = await parseGguf(encodeTestGguf({
      "tokenizer.ggml.model": ["string", "llama"],
      "tokenizer.ggml.tokens": ["string", tokens],
      "tokenizer.ggml.token_type": ["i32", tokens.map(kind)],
      "tokenizer.ggml.scores": ["f32", tokens.map((token) => -(rank.get(token) ?? 1e6))],
      "tokenizer.ggml.bos_token_id": ["u32", 1],
      "tokenizer.ggml.eos_token_id": ["u32", 2],
      "tokenizer.ggml.unknown_token_id": ["u32", 0],
      ...change,
    }, []));
    return tokenizerFromFiles(ggufTokenizer(file)!.files, "gguf");
  };
  const read = await make({});
  const same = (text: string) => assert.deepEqual(read.encode(text), original.encode(text), text);
  same("Once upon a time, there was a little girl named Lily. She loved  to play outside.");
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom(..."ehtsawidno THL,.\n", "é", "🙂", "and ", "<s>"), {
        maxLength: 30,
      }),
      (parts) => same(parts.join("")),
    ),
    { numRuns: cases(1000), seed: 3 },
  );
  const listed = await make({
    "tokenizer.ggml.model": ["string", "gemma4"],
    "tokenizer.ggml.merges": ["string", json.model.merges],
    "tokenizer.ggml.add_space_prefix": ["bool", true],
  });
  const sentence = "Lily  saw 3 ☃ \n and smiled.";
  assert.deepEqual(listed.encode(sentence), original.encode(sentence));
  assert.equal(read.decode(read.encode("a b"), { skipSpecialTokens: true }), "a b");
  const bare = await make({
    "tokenizer.ggml.add_space_prefix": ["bool", false],
    "tokenizer.ggml.add_bos_token": ["bool", false],
    "tokenizer.ggml.add_eos_token": ["bool", true],
  });
  assert.equal(bare.decode(bare.encode("a b"), { skipSpecialTokens: true }), "a b");
  assert.equal(bare.encode("a").at(-1), 2);
  assert.notEqual(bare.encode("a")[0], 1);
  for (
    const [change, message] of [
      [{ "tokenizer.ggml.scores": ["f32", [1]] }, /scores has 1 values, there are 512 tokens/],
      [{ "tokenizer.ggml.eos_token_id": ["u32", 512] }, /eos_token_id" are 512/],
      [{ "tokenizer.ggml.tokens": ["i32", [1]] }, /tokens" are 1, expected a list of texts/],
      [{ "tokenizer.ggml.model": ["string", "t5"] }, /of the kind "t5"/],
      [{ "tokenizer.ggml.precompiled_charsmap": ["i32", [1]] }, /charsmap is set/],
      [{ "tokenizer.ggml.model": ["string", "gpt2"] }, /splitting rule is "", which is not/],
      [
        { "tokenizer.ggml.model": ["string", "gpt2"], "tokenizer.ggml.pre": ["string", "gpt-2"] },
        /has no merges/,
      ],
    ] as [TestMetadata, RegExp][]
  ) await assert.rejects(make(change), message);
});

Deno.test("a byte order mark at the beginning of a token is read from GGUF metadata", async () => {
  const tokens = ["<unk>", "<s>", "</s>", "//", "\ufeff//"];
  const file = await parseGguf(encodeTestGguf({
    "tokenizer.ggml.model": ["string", "llama"],
    "tokenizer.ggml.tokens": ["string", tokens],
    "tokenizer.ggml.scores": ["f32", tokens.map(() => 0)],
  }, []));
  const json = JSON.parse(ggufTokenizer(file)!.files.get("tokenizer.json")!);
  assert.deepEqual(Object.keys(json.model.vocab), tokens);
});

Deno.test("the published rules of Qwen 3.5 and StarCoder have their names in GGUF files", () => {
  const bytes = { type: "ByteLevel", add_prefix_space: false };
  const sequence = (...pretokenizers: object[]) => ({ type: "Sequence", pretokenizers });
  const Regex = String.raw`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}` +
    String.raw`| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`;
  const split = { type: "Split", pattern: { Regex }, behavior: "Isolated", invert: false };
  const name = (pre: object, normalizer: object | null) =>
    splittingName({ pre_tokenizer: pre, normalizer, model: {} });
  assert.equal(name(sequence(split, { ...bytes, use_regex: false }), { type: "NFC" }), "qwen35");
  assert.equal(name(sequence({ type: "Digits", individual_digits: true }, bytes), null), "smollm");
});

Deno.test("special tokens in a chat's contents stay text, those of the template do not", () => {
  const files = new Map([
    [
      "tokenizer.json",
      JSON.stringify({
        added_tokens: [
          { id: 4, content: "<s>", special: true },
          { id: 5, content: "<think>", special: false },
        ],
        decoder: { type: "Fuse" },
        model: { type: "BPE", vocab: { a: 0, "<": 1, s: 2, ">": 3 }, merges: [] },
      }),
    ],
    [
      "tokenizer_config.json",
      JSON.stringify({
        chat_template: "<s>{% for m in messages %}{{ m.content }}<s>{% endfor %}",
      }),
    ],
  ]);
  const tokenizer = tokenizerFromFiles(files, "t");
  const encode = (content: string) =>
    tokenizer.encode(tokenizer.applyChatTemplate([{ role: "user", content }])!);
  assert.deepEqual(encode("a"), [4, 0, 4]);
  assert.deepEqual(encode("a<s>a"), [4, 0, 1, 2, 3, 0, 4]);
  assert.deepEqual(encode("<<s>s>"), [4, 1, 1, 2, 3, 2, 3, 4]);
  assert.deepEqual(encode("<think>"), [4, 5, 4]);
  assert.equal(tokenizer.applyChatTemplate([{ role: "user", content: "a" }]), "<s>a<s>");
  fc.assert(
    fc.property(fc.array(fc.constantFrom("<s>", "<", "s>", "a", "s", ">")), (parts) => {
      const ids = encode(parts.join(""));
      assert.deepEqual(ids.slice(1, -1).map((id) => "a<s>"[id]).join(""), parts.join(""));
    }),
    { numRuns: cases(2_000), seed: 3 },
  );
});

Deno.test("vocab.json without merges, of an unknown kind or damaged is refused", async () => {
  const folder = await Deno.makeTempDir();
  const files = (config: object) => new Map([["tokenizer_config.json", JSON.stringify(config)]]);
  const refused = async (config: object, message: RegExp) => {
    await assert.rejects(tokenizerFromVocabulary(folder, files(config)), message);
  };
  const gpt2 = { tokenizer_class: "GPT2TokenizerFast" };
  try {
    await assert.rejects(loadTokenizer(folder), /no tokenizer/);
    await Deno.symlink(`${folder}/gone`, `${folder}/tokenizer.json`);
    await assert.rejects(
      loadTokenizer(folder),
      /tokenizer\.json: it is a link that leads to no file/,
    );
    await Deno.remove(`${folder}/tokenizer.json`);
    await Deno.writeTextFile(`${folder}/vocab.json`, `{"a": 0, "b": 1, "ab": 2}`);
    await assert.rejects(loadTokenizer(folder), /vocab\.json is there, merges\.txt is not/);
    await Deno.writeTextFile(`${folder}/merges.txt`, "#version: 0.2\n");
    await refused(gpt2, /the tokenizer has no merges/);
    await Deno.writeTextFile(`${folder}/merges.txt`, "#version: 0.2\na b\n");
    await refused({}, /it is not known for a tokenizer without tokenizer_class/);
    await refused({ tokenizer_class: "BloomTokenizer" }, /"BloomTokenizer"/);
    await refused({ ...gpt2, add_prefix_space: true }, /add_prefix_space is not supported/);
    const read = tokenizerFromFiles(await tokenizerFromVocabulary(folder, files(gpt2)), "t");
    assert.deepEqual(read.encode("ab"), [2]);
    await Deno.writeTextFile(`${folder}/config.json`, `{"model_type": "gpt2"}`);
    assert.deepEqual((await loadTokenizer(folder)).encode("abab"), [2, 2]);
    await Deno.writeTextFile(`${folder}/merges.txt`, "a b c\n");
    await refused(gpt2, /merge 0 is "a b c", expected two tokens/);
    await Deno.writeTextFile(`${folder}/merges.txt`, "b a\n");
    await refused(gpt2, /needs the token "ba", which is not in the vocabulary/);
    await Deno.writeTextFile(`${folder}/vocab.json`, `{"a": "0"}`);
    await refused(gpt2, /"a" is "0", expected an id/);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
