import assert from "node:assert/strict";
import fc from "fast-check";
import { cases } from "../tests/cases.ts";
import { LinearPattern } from "./linear_pattern.ts";

type Found = [from: number, text: string][];

function all(pattern: { lastIndex: number; exec: LinearPattern["exec"] }, text: string): Found {
  const found: Found = [];
  pattern.lastIndex = 0;
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    // V8 also looks between the halves of a character, where its advance through a text ends.
    const isInside = match.index > 0 && text.codePointAt(match.index - 1)! > 0xffff;
    if (!isInside) found.push([match.index, match[0]]);
    if (match[0] === "") pattern.lastIndex += text.codePointAt(match.index)! > 0xffff ? 2 : 1;
  }
  return found;
}

/** Makes V8 never match: the expression has loops in loops. */
const harmful = (source: string) => `(?:${source})|(?:(?:z+)+)+#`;

Deno.test("random expressions find what V8 finds", () => {
  // JavaScript alone refuses a repetition that is empty, so each has a character.
  const leaf = fc.constantFrom(
    ..."a b . [ab] [^a] \\w \\b ^ $ 🙂 \\p{L} (?=a) (?!b) (?<=a) (?<!ab) (?<=b.) \\p{Lu}".split(
      " ",
    ),
  );
  const { expression } = fc.letrec<{ expression: string }>((tie) => ({
    expression: fc.oneof(
      { maxDepth: 4 },
      leaf,
      fc.tuple(tie("expression"), tie("expression")).map(([x, y]) => x + y),
      fc.tuple(tie("expression"), tie("expression")).map(([x, y]) => `(?:${x}|${y})`),
      fc.tuple(
        tie("expression"),
        fc.constantFrom("*", "+", "?", "{2}", "{1,3}", "+?", "*?", "{2,}"),
      )
        .map(([x, sign]) => `(?:${x}[ab])${sign}`),
      tie("expression").map((x) => `(?=${x})`),
      tie("expression").map((x) => `(?<=${x})`),
      tie("expression").map((x) =>
        `(?:(?=(?<atomic0>${x.replaceAll(/\(\?<atomic0>|\\k<atomic0>/g, "(?:")}))\\k<atomic0>)`
      ),
    ),
  }));
  let compared = 0;
  fc.assert(
    fc.property(
      expression,
      fc.string({ unit: fc.constantFrom("a", "b", "A", " ", "🙂"), maxLength: 9 }),
      (source, text) => {
        // Expressions of tokenizers with an atomic group in a lookbehind are refused before.
        if (/\(\?<=.*atomic/.test(source)) return;
        let native: RegExp;
        try {
          native = new RegExp(harmful(source), "gv");
        } catch {
          return;
        }
        compared++;
        assert.deepEqual(all(new LinearPattern(harmful(source)), text), all(native, text), source);
      },
    ),
    { numRuns: cases(1000), seed: 3 },
  );
  assert.ok(compared > cases(1000) / 2);
});

Deno.test("expressions that V8 tries for years end in time", () => {
  const text = "a".repeat(20_000), started = performance.now();
  for (
    const source of [
      "(a+)+b",
      "(a|a)*b",
      "a*a*a*a*b",
      "(?!(a+)+b)(a*)*b",
      "(?<=(a+)+b)x",
      "a*b",
      "(a{1,3}){1,3}b",
    ]
  ) {
    assert.equal(new LinearPattern(source).test(text), false, source);
  }
  assert.deepEqual(all(new LinearPattern("(?:a+)+|b"), "aab"), [[0, "aa"], [2, "b"]]);
  assert.ok(performance.now() - started < 60_000);
});

Deno.test("what is not supported is refused", () => {
  for (
    const [source, message] of [
      ["(a+)+\\1", /has a back reference/],
      ["a)", /has a parenthesis too many/],
      ["(a", /has a group without an end/],
      ["[a", /has no end of a class/],
      ["*a", /has an unexpected "\*"/],
      ["a{3,1}", /has the range \{3,1\}/],
      ["(?~a)", /has a group of an unknown kind/],
      ["(?:a{900}){900}", /the expression is too long/],
      ["(".repeat(300) + ")".repeat(300), /has too many groups in each other/],
    ] as const
  ) assert.throws(() => new LinearPattern(source), message, source);
});
