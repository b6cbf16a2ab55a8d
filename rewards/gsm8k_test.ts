import assert from "node:assert/strict";
import { assertFast } from "../core/time_limit_testing.ts";
import { goldAnswer } from "../data/solution_format.ts";
import { pythonFloat } from "./gsm8k.ts";
import { input, valueOf } from "./testing.ts";

const NAMES = [
  "match_format_exactly",
  "match_format_approximately",
  "check_answer_correctness",
  "check_numbers_extraction",
];
const S1 = "<start_working_out>", E1 = "<end_working_out>", S2 = "<SOLUTION>", E2 = "</SOLUTION>";
const W = (x: string) => `${S1}work${E1}\n${S2}${x}${E2}`;

const values = (completion: string, answer: string | null) =>
  NAMES.map((name) => valueOf(name, input(completion, { answer })));

Deno.test("the four GSM8K rewards give what the original functions gave", () => {
  const cases: [completion: string, gold: string, values: number[]][] = [
    [W("72"), "72", [3, 2, 3, 1.5]],
    [W("\n72\n"), "72", [3, 2, 3, 1.5]],
    [W("72.0"), "72", [3, 2, 1.5, 1.5]],
    [W("7.2e1"), "72", [3, 2, 1.5, 0]],
    [W("70"), "72", [3, 2, 1.5, 0]],
    [W("79.2"), "72", [3, 2, 1.5, 0]],
    [W("9"), "10", [3, 2, 1.5, 0]],
    [W("11"), "10", [3, 2, 1.5, 0]],
    [W("8"), "10", [3, 2, 0.5, 0]],
    [W("12"), "10", [3, 2, 0.5, 0]],
    [W("60"), "72", [3, 2, 0.5, 0]],
    [W("57.6"), "72", [3, 2, 0.5, 0]],
    [W("64.8"), "72", [3, 2, 0.5, 0]],
    [W("10"), "72", [3, 2, -0.5, 0]],
    [W("86.4"), "72", [3, 2, -0.5, 0]],
    [W("$72"), "72", [3, 2, -0.5, 1.5]],
    [W("the answer is 72 dollars"), "72", [3, 2, -0.5, 1.5]],
    [W("1,000"), "1000", [3, 2, -0.5, 0]],
    [W("1000"), "1,000", [3, 2, -0.5, 0]],
    [W("-5"), "-5", [3, 2, 3, 0]],
    [W("-5"), "5", [3, 2, -0.5, 1.5]],
    [W("5"), "0", [3, 2, -0.5, 0]],
    [W("3."), "3", [3, 2, 1.5, 1.5]],
    [W("."), "3", [3, 2, -0.5, 0]],
    [W("1.2.3"), "1.2", [3, 2, -0.5, 0]],
    [W("7_2"), "72", [3, 2, 1.5, 0]],
    // Digits of other scripts are digits in Python, fractions and superscripts are not.
    [W("٧٢"), "72", [3, 2, 1.5, 1.5]],
    [W("𝟕𝟐"), "86.4", [3, 2, 0.5, 0]],
    [W("72"), "७२", [3, 2, 1.5, 1.5]],
    [W("7²"), "72", [3, 2, -0.5, 0]],
    [W("inf"), "72", [3, 2, -0.5, 0]],
    [W("nan"), "72", [3, 2, -0.5, 0]],
    [`Sure!\n${W("72")}\nDone.`, "72", [3, 2, 3, 1.5]],
    [`Sure! ${W("72")}`, "72", [0, 2, 0, 1.5]],
    [`${W("72")} Done.`, "72", [0, 2, 0, 1.5]],
    [`${W("72")}\n${W("73")}`, "73", [3, -2, 1.5, 0]],
    [`${S1}${E1}${S2}72${E2}`, "72", [0, 2, 0, 1.5]],
    [`${S2}72${E2}`, "72", [0, 0, 0, 1.5]],
    [`${S1}a${E1}${S2}72`, "72", [0, 1, 0, 1.5]],
    ["72", "72", [0, -2, 0, 0]],
  ];
  for (const [completion, gold, expected] of cases) {
    assert.deepEqual(values(completion, gold), expected, `${JSON.stringify(completion)} ${gold}`);
  }
});

Deno.test("the format knows Python's white space and lines", () => {
  const exactly = (completion: string) => valueOf(NAMES[0]!, input(completion));
  for (const space of ["\u001c", "\u0085", "\u3000", "\n \t", "\r"]) {
    assert.equal(exactly(`a\n${space}${W("1")}${space}`), 3, JSON.stringify(space));
  }
  // U+FEFF is no white space in Python, and only "\n" ends a line.
  for (const text of ["\ufeff" + W("1"), W("1") + "\ufeff", `a\r${W("1")}`, `a\u2028${W("1")}`]) {
    assert.equal(exactly(text), 0, JSON.stringify(text));
  }
  assert.equal(exactly(`${S1}a${E1}${S2}${E2}`), 0);
  assert.equal(exactly(`${S1}a${E1}${S2}1${E2} and ${E2}`), 3);
  assert.equal(exactly(`x ${S1}\n${S1}a${E1}${S2}1${E2}`), 3);
});

/** The original pattern with its backtracking, as the port notes translate it. */
const SPACE =
  "\\u0009-\\u000d\\u001c-\\u0020\\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f" +
  "\\u205f\\u3000";
const FORMAT = new RegExp(
  `(?<![^\\n])[${SPACE}]*${S1}[^]+?${E1}[^]*?${S2}([^]+?)${E2}[${SPACE}]*(?![^\\n])`,
);

Deno.test("the linear search finds what the backtracking pattern finds", () => {
  const parts = [S1, E1, S2, E2, "\n", " ", "7", "x", "\u001c", "\ufeff"];
  let state = 1;
  const next = (n: number) => (state = state * 48271 % 2147483647) % n;
  let found = 0;
  for (let i = 0; i < 5_000; i++) {
    let text = "";
    // Half of the texts are near the format, so that both results occur often.
    if (i % 2 === 0) {
      for (const tag of [S1, E1, S2, E2]) {
        text += tag;
        for (let k = next(3); k > 0; k--) text += parts[next(parts.length)];
      }
    } else for (let k = next(12); k > 0; k--) text += parts[next(parts.length)];
    const match = FORMAT.exec(text);
    found += match === null ? 0 : 1;
    assert.equal(valueOf(NAMES[0]!, input(text)), match === null ? 0 : 3, JSON.stringify(text));
    const solution = match?.[1]?.trim() ?? "";
    if (solution !== "") {
      assert.equal(valueOf(NAMES[2]!, input(text, { answer: match![1]! })), 3, text);
    }
  }
  assert.ok(found > 250, `${found} matches`);
});

Deno.test("a completion that repeats its tags is scored in no time", () => {
  assertFast(1000, () => {
    values((S1 + "x" + E1 + S2 + "y" + E2 + "z").repeat(5000), "1");
    values(S1.repeat(5000) + E1.repeat(5000) + S2.repeat(5000) + (E2 + "x").repeat(5000), "1");
  });
});

Deno.test("the gold answer is after ####; without an answer the rewards do not apply", () => {
  assert.equal(goldAnswer("a\n#### 72"), "72");
  assert.equal(goldAnswer("a #### 7 #### 8"), "7");
  assert.equal(goldAnswer(" 72 "), "72");
  assert.deepEqual(values(W("72"), "so\n#### 72"), [3, 2, 3, 1.5]);
  assert.deepEqual(values(W("72"), null), [3, 2, null, null]);
});

Deno.test("numbers are read as Python's float does", () => {
  const cases: [string, number | null][] = [
    ["1_0.5_0e1_0", 10.5e10],
    [".5", 0.5],
    ["5.", 5],
    [" +7\u0085", 7],
    ["-１２.５e１", -125],
    ["-Infinity", -Infinity],
    ["1__0", null],
    ["_1", null],
    ["1_", null],
    ["1_.0", null],
    ["", null],
    [".", null],
    ["0x10", null],
    ["1,000", null],
    ["$7", null],
    ["1e", null],
    ["infinit", null],
  ];
  for (const [text, number] of cases) assert.equal(pythonFloat(text), number, text);
  assert.ok(Number.isNaN(pythonFloat("NaN")));
});
