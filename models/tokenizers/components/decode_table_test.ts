/** Texts put together token by token: what the decoder makes of the same tokens. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { decodeByTable, decodeTable } from "./decode_table.ts";
import { decoderOf } from "./decoders.ts";

const strip = { type: "Strip", content: " ", start: 1, stop: 0 };
const decoderWith = (...last: unknown[]) => ({
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

Deno.test("any ids, with and without special ones: the decoder's text, or none", () => {
  for (const decoder of [decoderWith(), decoderWith(strip)]) {
    const decode = decoderOf(decoder)!, table = decodeTable(decoder, TOKENS, new Set([1]))!;
    const some = fc.array(fc.nat(TOKENS.length - 1), { minLength: 1 });
    fc.assert(fc.property(some, fc.boolean(), (ids, skip) => {
      const tokens = ids.filter((id) => !(skip && id === 1)).map((id) => TOKENS[id]!);
      const isLeft = tokens.some((token) => /^<0x[89A-F][0-9A-F]>$/.test(token));
      assert.equal(decodeByTable(table, ids, skip), isLeft ? null : decode(tokens).join(""));
    }));
  }
});

Deno.test("ids without a token have no text, and an empty list is an empty text", () => {
  const table = decodeTable(decoderWith(strip), ["▁a", undefined], new Set())!;
  assert.equal(decodeByTable(table, [1, 0, 1, 7, 0], false), "a a");
  assert.equal(decodeByTable(table, [], true), "");
});

Deno.test("long texts, those that begin with U+FEFF, and halves of characters", () => {
  const tokens = ["\uFEFF", "é😀", "\uD83D", "a"];
  const table = decodeTable(decoderWith(), tokens, new Set())!;
  assert.equal(decodeByTable(table, [0, 3], false), "\uFEFFa");
  const ids = Array.from({ length: 5000 }, (_, i) => i % 2 === 0 ? 1 : 3);
  assert.equal(decodeByTable(table, ids, false), "é😀a".repeat(2500));
  assert.equal(decodeByTable(table, [3, 2, 3], false), null);
});

Deno.test("there is no table for other decoders", () => {
  const { decoders } = decoderWith();
  for (
    const other of [
      null,
      { type: "ByteLevel" },
      { type: "Sequence", decoders: decoders.slice(0, 2) },
      { type: "Sequence", decoders: [...decoders].reverse() },
      decoderWith({ ...strip, stop: 1 }),
      decoderWith({ ...strip, start: 2 }),
      decoderWith(strip, strip),
    ]
  ) assert.equal(decodeTable(other, [], new Set()), null);
});
