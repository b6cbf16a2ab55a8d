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

Deno.test("normalizers follow Unicode, and put replacements in as they are written", () => {
  const normalized = (normalizer: unknown, text: string) => {
    // A token for every character that may come out.
    const vocab = byName(..." \u0085aο\u039fδσς\ufeff▁\u0001\n\u200bi\u0307\u0130_$&1".split(""));
    const one = tokenizer({ type: "BPE", vocab, merges: [] }, { normalizer });
    return one.decode(one.encode(text));
  };
  const regex = { type: "Replace", pattern: { Regex: "\\s+" }, content: "$1" };
  const strip = { type: "Strip", strip_left: true, strip_right: true };
  const prefixed = { type: "Sequence", normalizers: [strip, { type: "Prepend", prepend: "_" }] };
  const text = "\u0085 a\ufeff▁\u0001\n\u200b ", greek = "\u039fδ\u039f\u03a3 \u0130";
  const spaced = (string: string) => Array.from(string).join(" ");
  assert.equal(normalized({ type: "Nmt" }, text), spaced("\u0085 a     "));
  assert.equal(normalized(strip, text), spaced("a\ufeff▁\u0001\n\u200b"));
  assert.equal(normalized({ type: "Lowercase" }, greek), spaced("οδοσ i\u0307"));
  assert.equal(normalized(regex, text), spaced("$1a\ufeff▁\u0001$1\u200b$1"));
  assert.equal(normalized(prefixed, "  "), "");
  assert.equal(normalized(prefixed, " a "), spaced("_a"));
});

Deno.test("characters without a token become bytes or unknown tokens, or are dropped", () => {
  const bytes = Array.from(
    { length: 256 },
    (_, byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`,
  );
  const pieces = (...tokens: string[]) => tokens.map((token, i) => [token, -i]);
  const unigram = (vocab: unknown, fallback: boolean, parts = {}) =>
    tokenizer({ type: "Unigram", unk_id: 0, vocab, byte_fallback: fallback }, parts);
  assert.deepEqual(ids(unigram(pieces("<unk>", "a", ...bytes), true), "aéa"), [1, 197, 171, 1]);
  const isolated = { type: "Split", pattern: { String: " " }, behavior: "Isolated", invert: false };
  const words = unigram(pieces("<unk>", "a", " "), false, { pre_tokenizer: isolated });
  assert.deepEqual(ids(words, "aéé éa"), [1, 0, 2, 0, 1]);
  const fused = tokenizer(
    { type: "BPE", vocab: byName("<unk>", "a"), merges: [], unk_token: "<unk>", fuse_unk: true },
    { pre_tokenizer: { type: "WhitespaceSplit" } },
  );
  assert.deepEqual(ids(fused, "éé éa"), [0, 0, 1]);
  const none = tokenizer({ type: "BPE", vocab: byName("a", "b", "ab", " "), merges: ["a b"] });
  assert.deepEqual(ids(none, "aéb a"), [2, 3, 0]);
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

Deno.test("byte tokens and marks of spaces are decoded as Hugging Face does", () => {
  const decoded = (decoder: unknown, tokens: string[]) => {
    const vocab = byName(...new Set(tokens));
    return tokenizer({ type: "BPE", vocab, merges: [] }, { decoder })
      .decode(tokens.map((token) => vocab[token]!));
  };
  const bytes = {
    type: "Sequence",
    decoders: [
      { type: "Replace", pattern: { String: "▁" }, content: " " },
      { type: "ByteFallback" },
      { type: "Fuse" },
    ],
  };
  assert.equal(decoded(bytes, ["<0xEF>", "<0xBB>", "<0xBF>", "a"]), "\ufeffa");
  assert.equal(
    decoded(bytes, ["<0xF5>", "<0x51>", "a", "<0xC3>", "<0xA9>", "<0x0A>"]),
    "\ufffd\ufffdaé\n",
  );
  const metaspace = (scheme: string) => ({
    type: "Metaspace",
    replacement: "▁",
    prepend_scheme: scheme,
    split: true,
  });
  assert.equal(decoded(metaspace("always"), ["▁a▁", "▁b"]), "a b");
  assert.equal(decoded(metaspace("never"), ["▁a", "▁b"]), " a b");
  const literal = { type: "Replace", pattern: { String: "a" }, content: "$&" };
  assert.equal(decoded(literal, ["a", "b"]), "$&b");
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
  refused({ decoder: { type: "Odd" } }, /not a usable tokenizer: Unknown Decoder type: Odd/);
  refused({ post_processor: { type: "Odd" } }, /Unknown PostProcessor type: Odd/);
});
