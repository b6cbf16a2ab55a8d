/** Texts cut where no merge reaches: the ids of the whole, on random vocabularies and on a real one. */
import { Tokenizer as HfTokenizer } from "@huggingface/tokenizers";
import assert from "node:assert/strict";
import fc from "fast-check";
import { type BpeTokenizer, pieceEncoder } from "./bpe_pieces.ts";
import { sharedFolder } from "../testing.ts";

type Json = Record<string, unknown>;

function libraryOf(json: Json): HfTokenizer {
  return new HfTokenizer({
    ...{ normalizer: null, pre_tokenizer: null, post_processor: null, decoder: null },
    ...{ added_tokens: [], ...json },
  }, {});
}
function piecesOf(library: HfTokenizer): ((text: string) => number[] | null) | null {
  const encode = pieceEncoder(library as unknown as BpeTokenizer);
  return encode && ((text) => encode(text, []));
}

const LETTERS = ["a", "b", "c", "▁", "😀", "?"] as const;

/** Vocabularies whose merges join tokens that are there already, as training makes them. */
const vocabularies = fc.record({
  choices: fc.array(fc.nat(), { maxLength: 10 }),
  fuse: fc.boolean(),
}).map(({ choices, fuse }): Json => {
  const tokens: string[] = ["<unk>", ...LETTERS.slice(0, 5)], merges: [string, string][] = [];
  for (const choice of choices) {
    const left = tokens[1 + choice % (tokens.length - 1)]!;
    const right = tokens[1 + Math.floor(choice / 16) % (tokens.length - 1)]!;
    if (merges.some(([l, r]) => l === left && r === right)) continue;
    merges.push([left, right]);
    if (!tokens.includes(left + right)) tokens.push(left + right);
  }
  const vocab = Object.fromEntries(tokens.map((token, id) => [token, id]));
  return { model: { type: "BPE", vocab, merges, unk_token: "<unk>", fuse_unk: fuse } };
});

Deno.test("any vocabulary, any text: the pieces have the ids of the whole", () => {
  const texts = fc.array(fc.constantFrom(...LETTERS), { minLength: 1, maxLength: 40 });
  fc.assert(fc.property(vocabularies, texts, (json, letters) => {
    const library = libraryOf(json), text = letters.join("");
    assert.deepEqual(piecesOf(library)!(text), library.encode(text).ids);
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

Deno.test("texts that begin alike, one after the other: the ids of each", () => {
  const part = fc.array(fc.constantFrom(" ", "A", "é", ...LETTERS), { maxLength: 12 });
  const texts = fc.array(fc.tuple(fc.nat(12), part), { minLength: 2, maxLength: 8 });
  const normalizer = fc.constantFrom(...NORMALIZERS);
  fc.assert(fc.property(vocabularies, normalizer, texts, (json, normalizer, changes) => {
    const library = libraryOf({ ...json, normalizer }), encode = piecesOf(library)!;
    let text = "";
    for (const [kept, more] of changes) {
      text = text.slice(0, kept) + more.join("");
      assert.deepEqual(encode(text), text === "" ? [] : library.encode(text).ids, text);
    }
  }));
});

Deno.test("added tokens are found in any text, however it is normalized", () => {
  const vocab = { "<unk>": 0, a: 1, "▁": 2, "a b": 3 };
  const model = { type: "BPE", vocab, merges: [], unk_token: "<unk>" };
  for (const normalizer of NORMALIZERS) {
    const added_tokens = [{ id: 3, content: "a b" }];
    const encode = piecesOf(libraryOf({ model, normalizer, added_tokens }))!;
    for (const text of ["aa ba", "a b"]) assert.equal(encode(text), null);
    assert.notEqual(encode("aa aba"), null);
  }
});

Deno.test("a real vocabulary: the same ids of known, unknown and repeated texts, at the second time too", async () => {
  const folder = sharedFolder("models/tinystories-656k");
  if (folder === null) return;
  const json = JSON.parse(await Deno.readTextFile(`${folder}/tokenizer.json`));
  const library = new HfTokenizer(json, {}), encode = piecesOf(library)!;
  const parts = [
    "Once upon a time  there was",
    " 1,234 + 5 =",
    "?",
    "\n\n\t",
    "Tschüß ☃☃ 你好",
    "😀 ",
  ];
  for (const text of [...parts, parts.join(""), parts.join("").repeat(20), ...parts]) {
    const { ids } = library.encode(text, { add_special_tokens: false });
    assert.deepEqual(encode(text), ids, text);
  }
  assert.equal(encode("the <|end_story|> of it"), null, "added tokens are the library's");
});

Deno.test("other kinds of tokenizers are the library's", () => {
  const model = { type: "BPE", vocab: { a: 0, b: 1, ab: 2 }, merges: [["a", "b"]] };
  assert.deepEqual(piecesOf(libraryOf({ model }))!("abba"), [2, 1, 0]);
  const withoutId = { ...model, unk_token: "<unk>" };
  assert.equal(
    piecesOf(libraryOf({ model: withoutId }))!("ab?"),
    null,
    "the unknown token has no id",
  );
  for (
    const other of [
      { model, pre_tokenizer: { type: "Digits", individual_digits: true } },
      { model: { ...model, ignore_merges: true } },
      { model: { ...model, end_of_word_suffix: "</w>" } },
      { model: { type: "WordPiece", vocab: { a: 0, "[UNK]": 1 }, unk_token: "[UNK]" } },
    ]
  ) assert.equal(piecesOf(libraryOf(other)), null);
});

Deno.test("no text has no ids, also where texts get a prefix", () => {
  const vocab = { "<unk>": 0, "▁": 1, a: 2, "▁a": 3 },
    normalizer = { type: "Prepend", prepend: "▁" };
  const library = libraryOf({
    model: { type: "BPE", vocab, merges: [["▁", "a"]], unk_token: "<unk>", fuse_unk: true },
    normalizer,
  });
  const pieces = piecesOf(library)!;
  for (const text of ["", "a", "aa"]) {
    assert.deepEqual(pieces(text), library.encode(text).ids, text);
  }
  assert.deepEqual(pieces(""), []);
});
