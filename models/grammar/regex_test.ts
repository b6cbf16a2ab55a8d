/** Regular expressions, ranges of numbers and of characters against those of JavaScript. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { accepts } from "./grammar_testing.ts";
import { integerNode, numberNode } from "./number_ranges.ts";
import { patternNode } from "./regex.ts";

const PATTERNS = [
  "abc",
  "^a|b$",
  "^(?:a|bb)*$",
  "^.{2,3}$",
  "^[^a-c]+$",
  "a{2}b{0,1}c{1,}",
  "^\\d+\\.\\w*$",
  "\\s",
  "^[\\w-]+$",
  "^[\\]\\-a]$",
  "^é+😀?$",
  "^\\u{1F600}|\\u00e9$",
  "^(?!a)(?!.*bb)[abc]*$",
  "^(?=a).*b$",
  "^(?<name>ab)+?$",
  "",
  "^$",
  "^[a-]{2}\\/$",
];

Deno.test("a pattern has the texts that JavaScript's expression finds", () => {
  const letters = fc.constantFrom(..."aabbc .-9_é😀\n]/");
  const texts = fc.array(letters, { maxLength: 6 }).map((list) => list.join(""));
  const samples = fc.sample(texts, { numRuns: 300, seed: 7 });
  for (const pattern of PATTERNS) {
    for (const isWhole of [false, true]) {
      const has = accepts((g) =>
        patternNode(g, pattern, { character: (ranges) => g.character(ranges), isWhole })
      );
      const expression = new RegExp(isWhole ? `^(?:${pattern})$` : pattern, "u");
      for (const text of ["", "a", "ab", "aab", ...samples]) {
        assert.equal(has(text), expression.test(text), `${pattern} ${isWhole} ${text}`);
      }
    }
  }
});

Deno.test("numbers between limits are those between limits", () => {
  const LIMITS = [
    { minimum: 3, maximum: 1234 },
    { minimum: -12, maximum: -3 },
    { exclusiveMinimum: -1.25, exclusiveMaximum: 0.5 },
    { minimum: 0.05, maximum: 0.051 },
    { exclusiveMinimum: 7 },
    { maximum: -1e-7 },
    { minimum: 2.5, exclusiveMinimum: 2.5, maximum: 9007199254740991 },
    {},
  ];
  const digits = fc.stringMatching(/^-?(0|[1-9]\d{0,4})(\.\d{1,4})?$/);
  const samples = fc.sample(digits, { numRuns: 400, seed: 3 });
  const near = ["-1.25", "-1.2499", "0.5", "0.49", "0.05", "0.0505", "0.0511", "7", "7.0", "7.01"];
  for (const limits of LIMITS) {
    const { minimum = -Infinity, maximum = Infinity } = limits;
    const { exclusiveMinimum = -Infinity, exclusiveMaximum = Infinity } = limits as {
      exclusiveMinimum?: number;
      exclusiveMaximum?: number;
    };
    const isIn = (x: number) =>
      x >= minimum && x <= maximum && x > exclusiveMinimum && x < exclusiveMaximum;
    const isNumber = accepts((g) => numberNode(g, limits));
    const isInteger = accepts((g) => integerNode(g, limits));
    for (const text of [...samples, ...near, "-3", "-12", "1234", "1235", "2.5", "2.51"]) {
      // Zero has no sign where there are limits.
      if (/^-0(\.0*)?$/.test(text)) continue;
      assert.equal(isNumber(text), isIn(Number(text)), `${JSON.stringify(limits)} ${text}`);
      const isWhole = /^-?\d+$/.test(text) && isIn(Number(text));
      assert.equal(isInteger(text), isWhole, `${JSON.stringify(limits)} integer ${text}`);
    }
    assert.ok(!isNumber("01") && !isNumber(".5") && !isNumber("1.") && !isInteger("007"));
  }
});
