import assert from "node:assert/strict";
import { goldenPath } from "../../tests/golden.ts";
import { followingText, tokenText } from "./following_text.ts";
import { loadTokenizer } from "./tokenizer.ts";

for (const name of ["stories260k", "tinystories-656k"]) {
  Deno.test(`${name}: the texts of a prompt and of what follows make up the whole`, async () => {
    const tokenizer = await loadTokenizer(goldenPath(`models/${name}`));
    const decode = (ids: number[]) => tokenizer.decode(ids, { skipSpecialTokens: true });
    const ids = tokenizer.encode("Once upon a time there was  a cat.");
    const whole = decode(ids);
    // The first ids are the beginning, and the blank that stands before every text.
    for (let at = 3; at < ids.length; at++) {
      const rest = followingText(tokenizer, ids.slice(at), { skipSpecialTokens: true });
      assert.equal(decode(ids.slice(0, at)) + rest, whole);
    }
    const texts = ids.slice(3).map((id) => tokenText(tokenizer, id)).join("");
    assert.equal(decode(ids.slice(0, 3)) + texts, whole);
    assert.equal(followingText(tokenizer, []), "");
    assert.equal(tokenText(tokenizer, ids[0]!), tokenizer.decode([ids[0]!]));
  });
}
