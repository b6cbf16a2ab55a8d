import assert from "node:assert/strict";
import { isSpace, PYTHON_SPACE, strip, words } from "./text.ts";

Deno.test("white space is the same as in Python, for every UTF-16 unit", () => {
  const pattern = new RegExp(`^[${PYTHON_SPACE}]$`);
  for (let code = 0; code < 0x10000; code++) {
    const character = String.fromCharCode(code);
    assert.equal(isSpace(character), pattern.test(character), code.toString(16));
  }
});

Deno.test("a text is stripped and split at Python's white space", () => {
  assert.equal(strip("\u0085 \x1c a\u2003b \u3000"), "a\u2003b");
  assert.equal(strip("\ufeffa"), "\ufeffa");
  assert.deepEqual(words(" a\u2003 bc\x1dd\n"), ["a", "bc", "d"]);
  assert.deepEqual(words(" a\u2003 bc\x1dd\n", 2), ["a", "bc"]);
  assert.deepEqual(words(" \n"), []);
});
