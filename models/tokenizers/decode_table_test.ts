/** Texts put together token by token: what the library makes of the same ids. */
import { Tokenizer as HfTokenizer } from "@huggingface/tokenizers";
import assert from "node:assert/strict";
import fc from "fast-check";
import { decodeByTable, decodeTable } from "./decode_table.ts";

const strip = { type: "Strip", content: " ", start: 1, stop: 0 };
const decoderOf = (...last: unknown[]) => ({
  type: "Sequence",
  decoders: [
    { type: "Replace", pattern: { String: "▁" }, content: " " },
    { type: "ByteFallback" },
    { type: "Fuse" },
    ...last,
  ],
});
const TOKENS = [
  "<unk>",
  "</s>",
  "▁",
  "▁a",
  "b▁▁",
  "<0x0A>",
  "<0xE2>",
  "<0x98>",
  "<0x83>",
  "<0xZZ>",
  "😀",
];

Deno.test("any ids, special ones kept or left out: the text is the library's, or left to it", () => {
  for (const decoder of [decoderOf(), decoderOf(strip)]) {
    const vocab = Object.fromEntries(TOKENS.map((token, id) => [token, id]));
    const added = { id: 1, content: "</s>", special: true };
    const library = new HfTokenizer({
      ...{ normalizer: null, pre_tokenizer: null, post_processor: null, added_tokens: [added] },
      ...{ decoder, model: { type: "BPE", vocab, merges: [], unk_token: "<unk>" } },
    }, {});
    const table = decodeTable(decoder, () => TOKENS, new Set([1]))!;
    const some = fc.array(fc.nat(TOKENS.length - 1), { minLength: 1 });
    fc.assert(fc.property(some, fc.boolean(), (ids, skip) => {
      const own = decodeByTable(table, ids, skip);
      const isLeft = ids.some((id) => /^<0x[89A-F][0-9A-F]>$/.test(TOKENS[id]!));
      const text = library.decode(ids, {
        skip_special_tokens: skip,
        clean_up_tokenization_spaces: false,
      });
      assert.equal(own, isLeft ? null : text);
    }));
  }
});

Deno.test("ids without a token have no text, and an empty list is an empty text", () => {
  const table = decodeTable(decoderOf(strip), () => ["▁a", undefined], new Set())!;
  assert.equal(decodeByTable(table, [1, 0, 1, 7, 0], false), "a a");
  assert.equal(decodeByTable(table, [], true), "");
});

Deno.test("long texts, those that begin with U+FEFF, and halves of characters", () => {
  const tokens = ["\uFEFF", "é😀", "\uD83D", "a"];
  const table = decodeTable(decoderOf(), () => tokens, new Set())!;
  assert.equal(decodeByTable(table, [0, 3], false), "\uFEFFa");
  const ids = Array.from({ length: 5000 }, (_, i) => i % 2 === 0 ? 1 : 3);
  assert.equal(decodeByTable(table, ids, false), "é😀a".repeat(2500));
  assert.equal(decodeByTable(table, [3, 2, 3], false), null);
});

Deno.test("other decoders are the library's, and no token is looked up for them", () => {
  const tokens = () => assert.fail("the tokens were asked for");
  const { decoders } = decoderOf();
  for (
    const other of [
      null,
      { type: "ByteLevel" },
      { type: "Sequence", decoders: decoders.slice(0, 2) },
      { type: "Sequence", decoders: [...decoders].reverse() },
      decoderOf({ ...strip, stop: 1 }),
      decoderOf({ ...strip, start: 2 }),
      decoderOf(strip, strip),
    ]
  ) assert.equal(decodeTable(other, tokens, new Set()), null);
});
