import assert from "node:assert/strict";
import { fontMetrics, fontTtf, missingCharacters, textWidth, withBoxes } from "./font.ts";

/** Sum of big-endian words, as the OpenType specification defines a table's checksum. */
function checksum(bytes: Uint8Array): number {
  let sum = 0;
  for (let i = 0; i < bytes.length; i++) sum = (sum + (bytes[i]! << (24 - 8 * (i % 4)))) >>> 0;
  return sum;
}

Deno.test("the font unpacks to a TrueType file with correct checksums", () => {
  const ttf = fontTtf(), data = new DataView(ttf.buffer);
  const count = data.getUint16(4);
  assert.ok(count > 8);
  for (let i = 0; i < count; i++) {
    const entry = 12 + 16 * i;
    const tag = String.fromCharCode(...ttf.subarray(entry, entry + 4));
    if (tag === "head") continue; // holds the checksum of the whole file
    const at = data.getUint32(entry + 8), length = data.getUint32(entry + 12);
    assert.equal(checksum(ttf.subarray(at, at + length)), data.getUint32(entry + 4), tag);
  }
});

Deno.test("missing characters are listed once, without spaces and control characters", () => {
  assert.deepEqual(missingCharacters("Ünïcode ½ ∑ é … ←\n\t\u00a0\u200b"), []);
  assert.deepEqual(missingCharacters("a 模型 b 型🙂"), ["模", "型", "🙂"]);
});

Deno.test("a missing character becomes one box, and joining characters vanish", () => {
  assert.equal(withBoxes("Ünïcode ½ モ a"), "Ünïcode ½ □ a");
  assert.equal(withBoxes("👩\u200d👧\ufe0f!").replaceAll(/[\u200d\ufe0f]/g, ""), "□□!");
});

Deno.test("widths are those of the font's glyphs", () => {
  // Units per em are 2048; these advances are what the font's tables list.
  assert.equal(textWidth("i", 2048), 512);
  assert.equal(textWidth("W", 2048), 1822);
  assert.equal(textWidth("iW", 1024), (512 + 1822) / 2);
  assert.ok(textWidth("漢", 10) === 10, "a character that the font lacks takes an em");
  const { ascent, descent, widths } = fontMetrics();
  assert.ok(ascent > 0.9 && descent > 0.2 && widths.size > 5000);
});
