/** Special expressions. General ones are compared with tests/golden/tokenizer_components.json. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { cases } from "../../../tests/cases.ts";
import { eachMatch } from "./patterns.ts";
import { translateExpression } from "./oniguruma.ts";

function matches(expression: string, text: string): string[] {
  const found: string[] = [];
  eachMatch(text, translateExpression(expression), (from, to) => found.push(text.slice(from, to)));
  return found;
}

Deno.test("letters in any case match as Unicode folds them, one character for one", () => {
  assert.deepEqual(matches("(?i:'s|k)", "'s 'S 'ſ k K \u212a"), [
    "'s",
    "'S",
    "'ſ",
    "k",
    "K",
    "\u212a",
  ]);
  assert.deepEqual(matches("a(?i)b|c", "aB AB aC C c"), ["aB", "aC"]);
  assert.deepEqual(matches("a(?-i:b)", "ab aB"), ["ab"]);
});

Deno.test("possessive quantifiers and atomic groups give nothing back", () => {
  assert.deepEqual(matches("a++a|b", "aaab"), ["b"]);
  assert.deepEqual(matches("(?>a|ab)c|b", "abc"), ["b"]);
  assert.deepEqual(matches("a{1,2}+", "aaaaa"), ["aaaaa"]);
});

Deno.test("expressions that Oniguruma tries for years cut a long text at once", () => {
  const text = "ab ".repeat(3000);
  for (
    const expression of ["(\\w+\\s?)+!", "(.*)*#", "(?>\\w+ )+(\\w+ )*(\\w+ )*#", "(?=(\\w+ )+#)"]
  ) {
    assert.deepEqual(matches(expression, text), [], expression);
  }
  assert.deepEqual(matches("( ?\\p{L}+)+", text.slice(0, 8)), ["ab ab ab"]);
});

Deno.test("empty matches: never after another match, nor inside of a character", () => {
  const text = "a😀b", found: [number, number][] = [];
  eachMatch(text, translateExpression("a|$|(?=😀)"), (from, to) => found.push([from, to]));
  assert.deepEqual(found, [[0, 1], [4, 4]]);
  assert.deepEqual(matches("", ""), []);
});

Deno.test("what is not translated is refused with its name", () => {
  for (
    const [expression, message] of [
      ["a\\X", /with \\X/],
      ["(?x: a)", /with the options \?x:/],
      ["(?~ab)", /has a group of an unknown kind/],
      ["(a", /has a group without an end/],
      ["a)", /has a parenthesis too many/],
      ["[a", /has no end/],
      ["+a", /has a quantifier without anything before it/],
      ["\\p{InGreek}", /has the property "InGreek", which is not known/],
      ["[[:alpha:]]", /with a POSIX bracket/],
      ["(a)\\1", /with \\1/],
      ["(?<=(?>a))", /has an atomic group in a lookbehind/],
      ["[z-a]", /is not understood/],
    ] as const
  ) assert.throws(() => translateExpression(expression), message);
});

Deno.test("any text is translated or refused", () => {
  const part = fc.constantFrom(
    ..."()[]{}?*+|\\^$.&:-,=!<>~ab1pPwsRkQ🙂".match(/./gu)!,
    "(?i",
    "[:",
    "&&",
  );
  fc.assert(
    fc.property(fc.array(part, { maxLength: 12 }), (parts) => {
      try {
        matches(parts.join(""), "ab1🙂 \n");
      } catch (error) {
        assert.match((error as Error).message, /^the expression "/);
      }
    }),
    { numRuns: cases(1000), seed: 4 },
  );
});
