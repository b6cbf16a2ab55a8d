/** The table and what it makes were recorded from Hugging Face's tokenizers 0.23 (Python). */
import assert from "node:assert/strict";
import { precompiledNormalizer } from "./normalizers.ts";

const TABLE =
  "AAQAAAAEAAD/AwAAHAAAgGIFAAD/AwAA/wMAAP8DAAD/AwAACQUAAAUAAIAFAACACgUAAP8DAAD/AwAA/wMAAO8EAAD/AwAA/wMAAP8DAAD/AwAA/wMAAP8DAAD/AwAA/wMAAP8DAAD/AwAA/wMAAP8DAAD/AwAA/wMAAP8DAACfBAAA/wMAAP8DAAD/AwAA/wMAAP8DAAD/AwAA/wMAAP8DAAD/AwAA/wMAAP8DAAD/AwAAHgAAgL0FAAAHAACAngUAAP8DAAD/AwAA/wMAAP8DAAD/AwAA/wMAAP8DAAD/AwAA/wMAAP8DAAD/AwAA/wMAAP8DAAD/AwAA/wMAAP8DAAD/AwAA/wMAAP8DAACsCAAA/wMAAP8DAACFBQAAEwAAgP8DAAD/AwAA/wMAAP8DAAD/AwAA/wMAAP8DAAD/AwAA/wMAAP8DAAC9CAAAvAQAAP8DAAD/AwAA/wMAAP8DAAD/AwAA/wMAAP8DAAD/AwAAnwUAAC4AAID/AwAA/wMAAGEEAAD/AwAAgAQAAIAQAAD/AwAA/wMAAP8DAAD/AwAA/wMAAP8DAACpBQAAFgAAgJ8EAACtDQAAGQAAgIwEAACNBAAA/wMAAP8DAACRBAAA/wMAAP8DAAD/AwAA/wMAAP8DAAD/AwAA/wMAAP8DAAAoAACAvQUAAP8DAAD/AwAA/wMAAPAEAAD/AwAA/wMAAP8DAAD/AwAA/wMAAP8DAAD/AwAA/wMAAP8DAAD/AwAA/wMAAP8DAAD/AwAA/wMAAP8DAACPBAAA/wMAAP8DAAD/AwAA/wMAAP8DAAD/AwAA/wMAAP8DAAD/AwAA/wMAAP8DAAD/AwAA/wMAAP8DAAD/AwAA/wMAAP8DAAD/AwAA/wMAAP8DAAD/AwAA/wMAAP8DAAD/AwAA/wMAAP8DAAD/AwAA/wMAAP8DAAD/AwAAvgQAAP8DAAD/AwAA/wMAAP8DAAD/AwAA/wMAAP8DAAD/AwAA/wMAAP8DAAD/AwAA/wMAAP8DAAD/AwAA/wMAAIEFAAAAAACAwwQAAMIMAAD/AwAA/wMAAP8DAAD/AwAA/wMAAP8DAAD/AwAA/wMAAP8DAAD/AwAA/wMAAP8DAAD/AwAA/wMAAKAFAAADAACA/wMAAP8DAAD/AwAA/wMAAP8DAAD/AwAA/wMAAP8DAAD/AwAA/wMAAP8DAAD/AwAADwAAgLEFAADjBAAA4gQAAP8DAAD/AwAABQAAgIAFAACLBQAAGQAAgP8DAAD/AwAA/wMAAP8DAADvBAAA/wMAAP8DAADwCAAAGgAAgKEFAAD/AwAA/wMAAP8DAAD/AwAA/wMAAP8DAACUBQAAIQAAgJEEAAD/AwAA/wMAAP8DAABmaQAxACAA44Ki44KbIQDjgqIAw4UAw6kAAEEAWAArMQDjgq3jg60AMeKBhDIAc3MA";

Deno.test("a precompiled table normalizes as Hugging Face's tokenizers do", () => {
  const normalized = precompiledNormalizer(TABLE);
  const expected: [string, string][] = [
    [
      "\ufb01x\u2460\u3000\uff71\uff9e\uff71 \u00e9 \u00e9 \uff21\nab a\ud83d\udc4d\ud83c\udffd\ud83d\udc4d\u3314\u00bdx\u00ady\u00df\u00df",
      "fix1 \u30a2\uff9e\u30a2 \u00e9 \u00e9 A ab a\ud83d\udc4d\ud83c\udffd\ud83d\udc4d\u30ad\u30ed1\u20442xyssss",
    ],
    ["", ""],
    ["ab", "ab"],
    ["e\u0301e\u0301\u0301 \r\n \u200b", "e\u0301e\u0301\u0301 \r  "],
    [
      "\ud83d\udc68\u200d\ud83d\udc69\u200d\ud83d\udc67\ud83d\udc4d\ud83c\udffd \uac01 \uff71\uff9e\uff9e",
      "\ud83d\udc68\u200d\ud83d\udc69\u200d\ud83d\udc67\ud83d\udc4d\ud83c\udffd \uac01 \u30a2\uff9e\uff9e",
    ],
    ["plain", "plain"],
    ["A\u030a \u00e9\u0327", "A\u030a \u00e9"],
  ];
  for (const [text, wanted] of expected) assert.equal(normalized(text), wanted);
  assert.equal(precompiledNormalizer("")("\u00bd a"), "\u00bd a");
  for (const bad of ["AAA=", TABLE.slice(0, 400), "AAAAAA=="]) {
    assert.throws(() => precompiledNormalizer(bad), /precompiled_charsmap is cut off/);
  }
});
