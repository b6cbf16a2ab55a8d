/** The prompts that rgx and its peers get. */
import assert from "node:assert/strict";
import { readModelFolder } from "../../models/model_folder.ts";
import { goldenPath } from "../../tests/golden.ts";
import { storyPrompts } from "./model.ts";

Deno.test("prompts from a story differ, and have the same tokens after decoding", async () => {
  const model = goldenPath("models/tinystories-656k");
  const prompts = await storyPrompts(model, 4, 64);
  const { tokenizer } = await readModelFolder(model);
  assert.deepEqual(prompts.map(({ length }) => length), [64, 64, 64, 64]);
  assert.equal(new Set(prompts.map((ids) => ids.join())).size, 4);
  for (const ids of prompts) {
    assert.deepEqual(tokenizer!.encode(tokenizer!.decode(ids, { skipSpecialTokens: true })), ids);
  }
});
