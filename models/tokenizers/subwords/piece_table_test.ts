/** Pieces keep their values, even if they share a hash, and if there are more than fit. */
import assert from "node:assert/strict";
import { hashed, PieceTable } from "./whole_text_encoder.ts";

function hashOf(piece: string): number {
  let hash = 0;
  for (let i = 0; i < piece.length; i++) hash = hashed(hash, piece.charCodeAt(i));
  return hash;
}

Deno.test("a piece is found in the middle of any text", () => {
  const table = new PieceTable<number>(), text = "one two one";
  assert.equal(table.get(text, 0, 3, hashOf("one")), undefined);
  table.set("one", hashOf("one"), 1);
  table.set("two", hashOf("two"), 2);
  assert.equal(table.get(text, 8, 11, hashOf("one")), 1);
  assert.equal(table.get(text, 4, 7, hashOf("two")), 2);
});

Deno.test("pieces that share a hash are kept apart", () => {
  const table = new PieceTable<string>(), pieces = ["a", "b", "ab", "😀"];
  for (const piece of pieces) table.set(piece, -1, piece);
  for (const piece of pieces) assert.equal(table.get(piece, 0, piece.length, -1), piece);
  assert.equal(table.get("c", 0, 1, -1), undefined);
});

Deno.test("values stay right when more pieces are added than fit", () => {
  const table = new PieceTable<number>();
  for (let i = 0; i < 30_000; i++) {
    const piece = `${i}`, hash = hashOf(piece);
    assert.equal(table.get(piece, 0, piece.length, hash), undefined);
    table.set(piece, hash, i);
    assert.equal(table.get(piece, 0, piece.length, hash), i);
  }
  assert.equal(table.get("0", 0, 1, hashOf("0")), undefined, "forgotten");
});
