/** What is expected was recorded from Hugging Face's tokenizers 0.23 (Python). */
import assert from "node:assert/strict";
import { assertFast } from "../../core/time_limit_testing.ts";
import { tokenizerFromFiles } from "./tokenizer.ts";

/** A tokenizer of this model with further parts; its unknown token is named nowhere else. */
function tokenizer(model: Record<string, unknown>, parts: Record<string, unknown> = {}) {
  const json = { version: "1.0", added_tokens: [], model, ...parts };
  return tokenizerFromFiles(new Map([["tokenizer.json", JSON.stringify(json)]]), "here");
}

const ids = (of: ReturnType<typeof tokenizer>, text: string) => of.encode(text);
const byName = (...tokens: string[]) => Object.fromEntries(tokens.map((token, id) => [token, id]));

Deno.test("added tokens stand alone, and take spaces along, where they say so", () => {
  const added = (id: number, content: string, flags: Record<string, boolean> = {}) => ({
    id,
    content,
    single_word: false,
    lstrip: false,
    rstrip: false,
    normalized: true,
    special: false,
    ...flags,
  });
  const words = tokenizer({
    type: "WordLevel",
    vocab: byName("<unk>", "a", "b", "the", "Hello", "world", "x", "1", "Hello world"),
    unk_token: "<unk>",
  }, {
    pre_tokenizer: { type: "Whitespace" },
    added_tokens: [
      added(9, "ab", { single_word: true }),
      added(10, "<m>", { lstrip: true }),
      added(11, "<n>", { rstrip: true }),
      added(12, "</s>", { special: true, normalized: false }),
    ],
  });
  const expected: [string, number[]][] = [
    ["Hello, world", [4, 0, 5]],
    ["ab abc cab ab. _ab éab ab", [9, 0, 0, 9, 0, 0, 0, 9]],
    ["a \u0085<m> b", [1, 10, 2]],
    ["a \ufeff<m>", [1, 0, 10]],
    ["<n>  \u3000a <n>", [11, 1, 11]],
    ["</s>ab</s>", [12, 9, 12]],
    ["x<m>ab", [6, 10, 9]],
  ];
  for (const [text, found] of expected) assert.deepEqual(ids(words, text), found, text);
  assertFast(1000, () => ids(words, " ".repeat(100_000) + "x<m>".repeat(10_000)));
});

Deno.test("a word of 200,000 characters that merge all over is done at once", () => {
  const tokens = Array.from({ length: 11 }, (_, i) => "a".repeat(2 ** i));
  const merges = tokens.slice(0, -1).map((token) => [token, token]);
  const doubling = tokenizer({ type: "BPE", vocab: byName(...tokens), merges });
  assertFast(1000, () => assert.equal(ids(doubling, "a".repeat(200_000)).length, 197));
});

Deno.test("what stands around a text is known of a tokenizer for digits alone, too", () => {
  const special = (id: string) => ({ SpecialToken: { id, type_id: 0 } });
  const digits = tokenizer(
    { type: "BPE", vocab: byName("<s>", "</s>", "1", "2", "12"), merges: ["1 2"] },
    {
      post_processor: {
        type: "TemplateProcessing",
        single: [special("<s>"), { Sequence: { id: "A", type_id: 0 } }, special("</s>")],
        pair: [],
        special_tokens: {},
      },
    },
  );
  assert.deepEqual(ids(digits, "121a2"), [0, 4, 4, 1]);
  assert.deepEqual(digits.encode("12", { literal: true }), [0, 4, 1]);
});

Deno.test("parts of a tokenizer that are not computed are refused by their names", () => {
  const model = { type: "BPE", vocab: byName("a"), merges: [] };
  const refused = (parts: Record<string, unknown>, reason: RegExp) =>
    assert.throws(() => tokenizer(model, parts), reason);
  refused(
    { pre_tokenizer: { type: "UnicodeScripts" } },
    /the pre_tokenizer "UnicodeScripts" is no/,
  );
  refused({ normalizer: { type: "Odd" } }, /the normalizer "Odd" is not supported/);
  refused({ normalizer: { type: "BertNormalizer" } }, /the normalizer "BertNormalizer" is not/);
  assert.throws(
    () => tokenizer({ ...model, end_of_word_suffix: "</w>" }),
    /a BPE with end_of_word_suffix is not supported/,
  );
  const template = (id: string) => ({
    type: "TemplateProcessing",
    single: [{ SpecialToken: { id, type_id: 0 } }, { Sequence: { id: "A", type_id: 0 } }],
  });
  refused(
    { post_processor: { type: "Sequence", processors: [template("a"), template("b")] } },
    /a Sequence of post_processors of which several add tokens is not supported/,
  );
  assert.throws(
    () => tokenizer({ ...model, dropout: 0.1 }),
    /a BPE with dropout is not supported/,
  );
  refused({ decoder: { type: "Odd" } }, /the decoder "Odd" is not supported/);
  refused({ post_processor: { type: "Odd" } }, /the post_processor "Odd" is not supported/);
  for (const charsmap of ["AAA=", "AAAAAA=="]) {
    const normalizer = { type: "Precompiled", precompiled_charsmap: charsmap };
    refused({ normalizer }, /precompiled_charsmap is cut off/);
  }
  // An old file of BERT's, which does not say the kind of its model.
  const pieces = { vocab: byName("a", "##b"), continuing_subword_prefix: "##" };
  assert.throws(() => tokenizer(pieces), /the model "WordPiece" is not supported/);
});
