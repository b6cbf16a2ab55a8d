/** Texts that are cut where no merge reaches get the ids of the whole text. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { goldenPath } from "../../../tests/golden.ts";
import { normalizerOf } from "../components/normalizers.ts";
import { Bpe } from "./bpe.ts";
import { vocabularyOf } from "./vocabulary.ts";
import { wholeTextEncoder } from "./whole_text_encoder.ts";

type Json = Record<string, unknown>;

/** The encoder of a model, and what the model makes of a whole text. */
function encodersOf({ model, normalizer, added = [] }: {
  model: Json;
  normalizer?: unknown;
  added?: string[];
}) {
  const vocabulary = vocabularyOf(model["vocab"]), bpe = new Bpe(model, vocabulary);
  const normalize = normalizerOf(normalizer);
  const encode = wholeTextEncoder(bpe, vocabulary, { json: normalizer, normalize }, added);
  return {
    pieces: encode && ((text: string) => encode(text, [])),
    whole(text: string): number[] {
      const ids: number[] = [];
      if (text !== "") bpe.encode(normalize?.(text) ?? text, ids);
      return ids;
    },
  };
}

const LETTERS = ["a", "b", "c", "▁", "😀", "?"] as const;

/** Vocabularies whose merges join tokens that are there already, as training makes them. */
const vocabularies = fc.record({
  choices: fc.array(fc.nat(), { maxLength: 10 }),
  fuse: fc.boolean(),
}).map(({ choices, fuse }) => {
  const tokens: string[] = ["<unk>", ...LETTERS.slice(0, 5)], merges: [string, string][] = [];
  for (const choice of choices) {
    const left = tokens[1 + choice % (tokens.length - 1)]!;
    const right = tokens[1 + Math.floor(choice / 16) % (tokens.length - 1)]!;
    if (merges.some(([l, r]) => l === left && r === right)) continue;
    merges.push([left, right]);
    if (!tokens.includes(left + right)) tokens.push(left + right);
  }
  const vocab = Object.fromEntries(tokens.map((token, id) => [token, id]));
  return { type: "BPE", vocab, merges, unk_token: "<unk>", fuse_unk: fuse };
});

Deno.test("any vocabulary, any text: the pieces have the ids of the whole", () => {
  const texts = fc.array(fc.constantFrom(...LETTERS), { minLength: 1, maxLength: 40 });
  fc.assert(fc.property(vocabularies, texts, (model, letters) => {
    const { pieces, whole } = encodersOf({ model }), text = letters.join("");
    assert.deepEqual(pieces!(text), whole(text));
  }));
});

const replace = { type: "Replace", pattern: { String: " " }, content: "▁" };
const prepend = { type: "Prepend", prepend: "▁" };
const NORMALIZERS = [
  null,
  prepend,
  replace,
  { type: "Sequence", normalizers: [prepend, replace] },
  { type: "Sequence", normalizers: [replace, prepend] },
  { type: "Sequence", normalizers: [{ type: "NFC" }, replace] },
  { type: "Lowercase" },
];

Deno.test("texts with a common beginning, one after the other: the ids of each", () => {
  const part = fc.array(fc.constantFrom(" ", "A", "é", ...LETTERS), { maxLength: 12 });
  const texts = fc.array(fc.tuple(fc.nat(12), part), { minLength: 2, maxLength: 8 });
  const normalizer = fc.constantFrom(...NORMALIZERS);
  fc.assert(fc.property(vocabularies, normalizer, texts, (model, normalizer, changes) => {
    const { pieces, whole } = encodersOf({ model, normalizer });
    let text = "";
    for (const [kept, more] of changes) {
      text = text.slice(0, kept) + more.join("");
      assert.deepEqual(pieces!(text), whole(text), text);
    }
  }));
});

Deno.test("added tokens are found in any text, however it is normalized", () => {
  const vocab = { "<unk>": 0, a: 1, "▁": 2, "a b": 3 };
  const model = { type: "BPE", vocab, merges: [], unk_token: "<unk>" };
  for (const normalizer of NORMALIZERS) {
    const { pieces } = encodersOf({ model, normalizer, added: ["a b"] });
    for (const text of ["aa ba", "a b"]) assert.equal(pieces!(text), null);
    assert.notEqual(pieces!("aa aba"), null);
  }
});

Deno.test("a real vocabulary: known, unknown and repeated texts, each of them twice", async () => {
  const folder = goldenPath("models/tinystories-656k");
  const { model, normalizer } = JSON.parse(await Deno.readTextFile(`${folder}/tokenizer.json`));
  const { pieces, whole } = encodersOf({ model, normalizer, added: ["<|end_story|>"] });
  const parts = [
    "Once upon a time  there was",
    " 1,234 + 5 =",
    "?",
    "\n\n\t",
    "Tschüß ☃☃ 你好",
    "😀 ",
  ];
  for (const text of [...parts, parts.join(""), parts.join("").repeat(20), ...parts]) {
    assert.deepEqual(pieces!(text), whole(text), text);
  }
  assert.equal(pieces!("the <|end_story|> of it"), null);
});

Deno.test("texts and models that cannot be cut are left to the general way", () => {
  const model = { type: "BPE", vocab: { a: 0, b: 1, ab: 2 }, merges: [["a", "b"]] };
  assert.deepEqual(encodersOf({ model }).pieces!("abba"), [2, 1, 0]);
  assert.equal(encodersOf({ model }).pieces!("ab?"), null, "a dropped character joins others");
  const bytes = { byte_fallback: true, unk_token: "b" };
  for (
    const change of [
      { ignore_merges: true },
      { end_of_word_suffix: "</w>" },
      { unk_token: "a" },
      { unk_token: "?", fuse_unk: true },
      { ...bytes, vocab: { ...model.vocab, "<0x61>": 3 } },
    ]
  ) assert.equal(encodersOf({ model: { ...model, ...change } }).pieces, null);
});

Deno.test("no text has no ids, also where texts get a prefix", () => {
  const vocab = { "<unk>": 0, "▁": 1, a: 2, "▁a": 3 };
  const { pieces, whole } = encodersOf({
    model: { type: "BPE", vocab, merges: [["▁", "a"]], unk_token: "<unk>", fuse_unk: true },
    normalizer: { type: "Prepend", prepend: "▁" },
  });
  for (const text of ["", "a", "aa"]) assert.deepEqual(pieces!(text), whole(text), text);
  assert.deepEqual(pieces!(""), []);
});
