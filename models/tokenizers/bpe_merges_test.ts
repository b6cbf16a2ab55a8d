/** Byte-pair merging against the library's own, on random words and on a real vocabulary. */
import { Tokenizer as HfTokenizer } from "@huggingface/tokenizers";
import assert from "node:assert/strict";
import fc from "fast-check";
import { merger, useFasterMerges } from "./bpe_merges.ts";
import { sharedFolder } from "../testing.ts";

/** A model of the library without a word's suffixes, and its own merging. */
function libraryMerges(merges: [string, string][]): (word: string) => string[] {
  const characters = [...new Set(merges.flat().join(""))];
  const tokens = [...new Set(["?", ...characters, ...merges.map((pair) => pair.join(""))])];
  const vocab = Object.fromEntries(tokens.map((token, id) => [token, id]));
  const json = {
    ...{ normalizer: null, pre_tokenizer: null, post_processor: null, decoder: null },
    ...{ added_tokens: [], model: { type: "BPE", vocab, merges, unk_token: "?" } },
  };
  const { model } = new HfTokenizer(json, {}) as unknown as {
    model: { bpe(word: string): string[] };
  };
  return (word) => model.bpe(word);
}

Deno.test("any merges on any word: as the library merges them", () => {
  const letter = fc.constantFrom("a", "b", "c", "😀");
  const word = fc.array(letter, { maxLength: 30 }).map((letters) => letters.join(""));
  const merges = fc.array(fc.nat(), { minLength: 1, maxLength: 12 }).map((choices) => {
    // Each merge joins two tokens that are there already, as training a vocabulary does.
    const tokens = ["a", "b", "c", "😀"], pairs: [string, string][] = [];
    for (const choice of choices) {
      const left = tokens[choice % tokens.length]!;
      const right = tokens[Math.floor(choice / tokens.length) % tokens.length]!;
      if (pairs.some(([l, r]) => l === left && r === right)) continue;
      pairs.push([left, right]);
      if (!tokens.includes(left + right)) tokens.push(left + right);
    }
    return pairs;
  });
  fc.assert(fc.property(merges, word, (pairs, text) => {
    assert.deepEqual(merger(pairs)(text), libraryMerges(pairs)(text));
  }));
});

Deno.test("a real vocabulary: the same ids of a long text, characters without a token included", async () => {
  const folder = sharedFolder("models/tinystories-656k");
  if (folder === null) return;
  const json = JSON.parse(await Deno.readTextFile(`${folder}/tokenizer.json`));
  const own = new HfTokenizer(json, {});
  const text = "Once upon a time  there was 1,234 + 5 = <answer>?</answer>\n\n\tTschüß ☃ 你好 😀 ";
  for (const hasWords of [true, false]) {
    const faster = new HfTokenizer(json, {});
    useFasterMerges((faster as unknown as { model: unknown }).model, hasWords);
    for (const part of [text, text.repeat(20), "", "a", "☃"]) {
      assert.deepEqual(faster.encode(part).ids, own.encode(part).ids);
    }
  }
});
