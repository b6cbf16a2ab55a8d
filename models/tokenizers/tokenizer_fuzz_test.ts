/**
 * Damaged tokenizers: files with changed bytes and GGUF metadata with arbitrary values are usable,
 * or refused with an RgxError. The same holds for every text that is then encoded.
 */
import assert from "node:assert/strict";
import fc from "fast-check";
import { GgufFile } from "../formats/gguf/gguf.ts";
import type { GgufValue } from "../formats/gguf/gguf_header.ts";
import { ggufTokenizer } from "../formats/gguf/gguf_tokenizer.ts";
import { tokenizerFromFiles } from "./tokenizer.ts";
import { cases } from "../../tests/cases.ts";
import { accepted, editedText, mostAreRefused } from "../damage_testing.ts";

function useTokenizer(files: ReadonlyMap<string, string>): void {
  const tokenizer = tokenizerFromFiles(files, "t");
  const ids = tokenizer.encode("ab ba</s> é");
  assert.ok(ids.every(Number.isInteger));
  tokenizer.decode(ids, { skipSpecialTokens: true });
  tokenizer.encode("ab</s>", { literal: true });
}

const JSON_TEXT = JSON.stringify({
  added_tokens: [{ id: 3, content: "</s>", special: true, normalized: false }],
  normalizer: { type: "NFC" },
  pre_tokenizer: { type: "ByteLevel", add_prefix_space: false },
  post_processor: null,
  decoder: { type: "ByteLevel" },
  model: {
    type: "BPE",
    unk_token: "a",
    vocab: { a: 0, b: 1, ab: 2, "</s>": 3, "Ġ": 4 },
    merges: ["a b"],
  },
});

const PUTS = ["", "0", "-1", "null", "[]", "{}", '"', ",", ":", "true", '"a"', "1e9", "\\"];

Deno.test("500 damaged tokenizer.json files are usable or refused", async () => {
  const use = (text: string) =>
    accepted(() =>
      useTokenizer(new Map([["tokenizer.json", text], ["tokenizer_config.json", "{}"]]))
    );
  await mostAreRefused(editedText(JSON_TEXT, PUTS, 2), use, { seed: 9 });
  assert.ok(await use(JSON_TEXT));
});

/** Every place in a JSON value, as the keys that lead to it. */
function* places(value: unknown, path: string[] = []): Generator<string[]> {
  yield path;
  if (value === null || typeof value !== "object") return;
  for (const [key, inner] of Object.entries(value)) yield* places(inner, [...path, key]);
}

function exchanged(value: unknown, [key, ...rest]: readonly string[], by: unknown): unknown {
  if (key === undefined) return by;
  const copy = structuredClone(value) as Record<string, unknown>;
  copy[key] = exchanged(copy[key], rest, by);
  return copy;
}

Deno.test("500 tokenizer.json files with values of another kind are usable or refused", async () => {
  const whole = JSON.parse(JSON_TEXT);
  const kinds = [
    "ByteLevel",
    "Metaspace",
    "Split",
    "Digits",
    "Sequence",
    "Replace",
    "Strip",
    "Fuse",
  ];
  const change = fc.tuple(
    fc.constantFrom(...places(whole)),
    fc.oneof(
      fc.constantFrom(null, true, -1, 0, 0.5, 1e9, "", "ab", "(", [], {}, [null], ["a", "b"]),
      fc.constantFrom(...kinds).map((type) => ({ type })),
      fc.constantFrom("Unigram", "WordPiece", "WordLevel", "BPE").map((type) => ({
        type,
        vocab: { a: 0, b: 1 },
        merges: [],
        unk_id: 0,
      })),
    ),
  );
  const use = (changes: readonly (readonly [string[], unknown])[]) => {
    let json: unknown = whole;
    for (const [path, by] of changes) {
      const known = [...places(json)].some((other) => other.join("\n") === path.join("\n"));
      if (known) json = exchanged(json, path, by);
    }
    return accepted(() => useTokenizer(new Map([["tokenizer.json", JSON.stringify(json)]])));
  };
  let used = 0;
  const all = fc.array(change, { minLength: 1, maxLength: 2 });
  await mostAreRefused(all, async (changes) => await use(changes) && ++used > 0, { seed: 9 });
  assert.ok(used > cases(500) / 20, `only ${used} were usable`);
});

const TOKENS = ["a", "b", "ab", "</s>", "Ġ", "▁", "<0x61>"];
const GOOD: Record<string, GgufValue> = {
  "tokenizer.ggml.model": "gpt2",
  "tokenizer.ggml.pre": "gpt-2",
  "tokenizer.ggml.tokens": TOKENS,
  "tokenizer.ggml.token_type": [1, 1, 1, 3, 1, 1, 6],
  "tokenizer.ggml.scores": [0, -1, -2, 0, 0, 0, 0],
  "tokenizer.ggml.merges": ["a b"],
  "tokenizer.ggml.bos_token_id": 3,
  "tokenizer.ggml.eos_token_id": 3,
  "tokenizer.ggml.add_bos_token": true,
};
const value: fc.Arbitrary<GgufValue> = fc.oneof(
  fc.constantFrom<GgufValue>("gpt2", "llama", "qwen2", "", true, -1, 0, 3, 7, NaN, 2n ** 60n, []),
  fc.array(fc.constantFrom(...TOKENS, "", "a b", "a  b", "b a"), { maxLength: 8 }),
  fc.array(fc.integer({ min: -1, max: 7 }), { minLength: 6, maxLength: 8 }),
);
const metadata = fc.dictionary(fc.constantFrom(...Object.keys(GOOD)), value, { maxKeys: 3 });

Deno.test("500 sets of GGUF tokenizer metadata are usable or refused", () => {
  const run = (changes: Record<string, GgufValue>) =>
    accepted(() => {
      const entries = new Map(Object.entries({ ...GOOD, ...changes }));
      const tokenizer = ggufTokenizer(new GgufFile("t", entries, new Map(), NO_BYTES));
      if (tokenizer !== null) useTokenizer(tokenizer.files);
    });
  return mostAreRefused(metadata, run, { seed: 9 });
});

const NO_BYTES = {
  size: 0,
  read: () => Promise.reject(new Error("nothing is to be read")),
  readInto: () => Promise.reject(new Error("nothing is to be read")),
};
