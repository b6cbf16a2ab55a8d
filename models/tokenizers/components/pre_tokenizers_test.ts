/** What is expected was recorded from Hugging Face's tokenizers 0.23 (Python). */
import assert from "node:assert/strict";
import { preTokenizerOf } from "./pre_tokenizers.ts";

interface Golden {
  texts: string[];
  parts: { part: Record<string, unknown>; pieces: string[][] }[];
}

Deno.test("every pre-tokenizer cuts difficult texts as Hugging Face's do", async () => {
  const golden: Golden = JSON.parse(
    await Deno.readTextFile(new URL("../../../tests/golden/pre_tokenizers.json", import.meta.url)),
  );
  for (const { part, pieces } of golden.parts) {
    const cut = preTokenizerOf(part)!;
    golden.texts.forEach((text, i) =>
      assert.deepEqual(
        cut(text, true),
        pieces[i],
        `${JSON.stringify(part)} of ${JSON.stringify(text)}`,
      )
    );
  }
});
