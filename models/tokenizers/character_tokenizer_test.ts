import assert from "node:assert/strict";
import { refusal, withFolder } from "../../core/testing.ts";
import { UsageError } from "../../core/errors.ts";
import { createCharacterTokenizer } from "./character_tokenizer.ts";
import { loadTokenizer } from "./tokenizer.ts";

const special_tokens = ["<pad>", "<unk>", "<eos>", "<answer>", "</answer>"];
const alphabet = "abcdefghijklmnopqrstuvwxyz 0123456789.,?:'\"\\\n<>/é🙂";

Deno.test("one id for each character, special tokens inside a text are single ids", () => {
  const tokenizer = createCharacterTokenizer({ alphabet: "abc ", special_tokens });
  assert.equal(tokenizer.vocabSize, 9);
  assert.deepEqual(tokenizer.encode("ab <answer>c</answer><eos>"), [5, 6, 8, 3, 7, 4, 2]);
  assert.deepEqual(tokenizer.encode("aXYb"), [5, 1, 1, 6]);
  assert.deepEqual(tokenizer.encode(""), []);
  assert.equal(tokenizer.eosId, 2);
  assert.equal(tokenizer.padId, 0);
  assert.equal(tokenizer.tokenId("</answer>"), 4);
  assert.equal(tokenizer.applyChatTemplate([{ role: "user", content: "a" }]), null);
});

Deno.test("answer tags survive skipSpecialTokens, control tokens do not", () => {
  const tokenizer = createCharacterTokenizer({ alphabet: "abc ", special_tokens });
  const ids = [0, 5, 1, 3, 7, 4, 2];
  assert.equal(tokenizer.decode(ids), "<pad>a<unk><answer>c</answer><eos>");
  assert.equal(tokenizer.decode(ids, { skipSpecialTokens: true }), "a<answer>c</answer>");
});

Deno.test("its files load like those of any model folder, with the same ids", async () => {
  const made = createCharacterTokenizer({ alphabet, special_tokens });
  await withFolder(async (folder) => {
    for (const [name, text] of made.files()) await Deno.writeTextFile(`${folder}/${name}`, text);
    const loaded = await loadTokenizer(folder);
    assert.deepEqual([...loaded.files()], [...made.files()]);
    assert.equal(loaded.vocabSize, special_tokens.length + [...alphabet].length);
    assert.equal(loaded.eosId, made.eosId);
    assert.equal(loaded.padId, made.padId);
    for (
      const text of [
        "spell 'hello' backward: <answer>olleh</answer>",
        "<answer><answer></answe r>\n\n  two  spaces",
        '3 < 4 > 2 / 1 é🙂 \\"',
        "a".repeat(1000),
      ]
    ) {
      const ids = made.encode(text);
      assert.deepEqual(loaded.encode(text), ids);
      assert.equal(made.decode(ids), text);
      assert.equal(loaded.decode(ids, { skipSpecialTokens: true }), text);
    }
    // Each character alone, too: no letter may be merged, dropped or cleaned up.
    for (const character of alphabet) {
      const ids = loaded.encode(character);
      assert.equal(ids.length, 1);
      assert.equal(loaded.decode(ids), character);
    }
  });
});

Deno.test("impossible alphabets are refused", () => {
  const make = (alphabet: string, tokens: string[]) => () =>
    createCharacterTokenizer({ alphabet, special_tokens: tokens });
  for (
    const [attempt, message] of [
      [make("aba", special_tokens), /alphabet: "a" is there twice/],
      [make("", special_tokens), /alphabet: it is empty/],
      [make("ab", ["<eos>"]), /<unk> is missing/],
      [make("ab", ["<unk>"]), /<eos> is missing/],
      [make("ab", ["<eos>", "<unk>", "<eos>"]), /special_tokens: "<eos>" is there twice/],
      [make("ab", ["<eos>", "<unk>", "c"]), /"c" is too short/],
    ] as const
  ) {
    assert.throws(attempt, refusal(message, UsageError));
  }
});
