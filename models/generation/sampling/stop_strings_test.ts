import assert from "node:assert/strict";
import { RandomStream } from "../../../core/philox.ts";
import { createCharacterTokenizer } from "../../tokenizers/character_tokenizer.ts";
import { stopStrings } from "./stop_strings.ts";

/** Tokens of several bytes that split characters: token i has the bytes PIECES[i]. */
const PIECES = ["a", "b", "ab", "</", "ans", ">", "</ans", " ", "é", "😀"].map((text) => [
  ...new TextEncoder().encode(text),
]).concat([[0xc3], [0xa9], [0xf0, 0x9f], [0x98], [0x80], []]);
let decoded = 0;
const pieces = {
  decode: (ids: readonly number[]) => {
    decoded += ids.length;
    const bytes = Uint8Array.from(ids.flatMap((id) => PIECES[id]!));
    return new TextDecoder().decode(bytes);
  },
};

Deno.test("a completion ends with the token that completes a stop string", () => {
  const strings = ["</ans>", "ba", "é", "a😀b"];
  const stop = stopStrings(pieces, strings)!;
  const random = RandomStream.forPurpose(1, "init", "stop strings");
  let ended = 0;
  for (let run = 0; run < 500; run++) {
    const ids: number[] = [];
    for (let i = 0; i < 60; i++) {
      ids.push(random.u32() % PIECES.length);
      const held = strings.some((text) => pieces.decode(ids).includes(text));
      assert.equal(stop(ids), held, `${ids}`);
      if (!held) continue;
      ended++;
      break;
    }
  }
  assert.ok(ended > 250, `${ended} ended`);
});

Deno.test("a string that was complete before is not found again", () => {
  const stop = stopStrings(pieces, ["ab"])!;
  assert.equal(stop([2]), true);
  assert.equal(stop([2, 7]), false);
  assert.equal(stop([2, 15]), false, "a token without text");
  assert.equal(stop([2, 0, 1]), true);
});

Deno.test("only a tail is decoded", () => {
  const stop = stopStrings(pieces, ["</ans>"])!, ids = Array<number>(10_000).fill(0);
  decoded = 0;
  assert.equal(stop(ids), false);
  assert.ok(decoded < 100, `${decoded} tokens decoded`);
});

Deno.test("without strings there is no function; special tokens have no text", () => {
  const tokenizer = createCharacterTokenizer({
    alphabet: "abc",
    special_tokens: ["<pad>", "<unk>", "<eos>"],
  });
  assert.equal(stopStrings(tokenizer, []), null);
  assert.equal(stopStrings(tokenizer, [""]), null);
  const stop = stopStrings(tokenizer, ["ab", "<eos>"])!;
  const [a, b, eos] = [...tokenizer.encode("ab", { addSpecialTokens: false }), tokenizer.eosId!];
  assert.equal(stop([a!, eos!, b!]), true);
  assert.equal(stop([a!, eos!]), false);
});
