import assert from "node:assert/strict";
import { assertFast } from "../../core/testing.ts";
import { sameMath } from "./equal.ts";
import { findMathAnswer } from "./find.ts";
import { parseMath } from "./parse.ts";

/** Whether two formulas are equal; null when one of them is none. */
function same(a: string, b: string): boolean | null {
  const [x, y] = [parseMath(a), parseMath(b)];
  return x === null || y === null ? null : sameMath(x, y);
}

Deno.test("the answer is the last box, else the announced formula, never a bare number", () => {
  const cases: [string, string | null][] = [
    ["My answer is \\boxed{\\frac{1}{3}}", "\\frac{1}{3}"],
    ["\\boxed{3} and \\boxed{4}", "4"],
    ["\\boxed{3} and \\boxed{4", "3"],
    ["\\boxed{\\{1,2\\}}", "\\{1,2\\}"],
    ["\\boxed{a\\}b}", "a\\}b"],
    ["$5$ \\boxed{4}", "4"],
    ["The answer is $72$", "72"],
    ["The final answer is: $72$. The answer is $7$", "72"],
    ["the answer is \\(1\\), no, the answer is \\[2\\]", "2"],
    ["The answer is $$8$$.", "8"],
    ["The answer is 72", null],
    ["$$72$$", null],
    ["72", null],
    ["", null],
  ];
  for (const [text, answer] of cases) assert.equal(findMathAnswer(text), answer, text);
});

Deno.test("equal numbers in any notation of the grammar are equal", () => {
  const groups = [
    ["72", "72.0", "$72$", "+72", " 72. ", "x = 72", "72\\text{ cm}", "72\\mathrm{cm}^2", "\\$72"],
    ["1000", "1,000", "1{,}000", "1\\,000", "10^3", "1e3", "10^{3}", "1,000.00"],
    ["\\frac{1}{2}", "\\dfrac12", "1/2", "0.5", ".5", "50\\%", "50%", "\\frac{2}{4}", "2^{-1}"],
    ["-\\frac{1}{3}", "\\frac{-1}{3}", "-1/3", "−1/3", "\\frac{1}{-3}"],
    ["2", "\\sqrt{4}", "\\sqrt[3]{8}", "4^{1/2}", "4^{0.5}", "\\sqrt4", "1 + 1", "4/2", "(2)"],
    ["2\\pi", "2 \\cdot \\pi", "6.283185307", "\\frac{4\\pi}{2}"],
    ["\\frac{\\sqrt{2}}{2}", "\\frac{1}{\\sqrt2}", "1/\\sqrt{2}", "0.70710678", "\\sqrt{1/2}"],
    ["3\\sqrt{2}", "\\sqrt{18}"],
    ["1\\frac{1}{2}", "1.5", "\\frac{3}{2}"],
    ["-1\\frac{1}{2}", "-1.5"],
    ["90^\\circ", "90", "90^{\\circ}", "90 degrees"],
    ["-2^2", "-4"],
    ["(-2)^2", "4"],
    ["2^{3^2}", "512"],
    ["123456789012345678901234567890", "123456789012345678901234567890.0"],
    ["10^{400}", "10 \\cdot 10^{399}"],
  ];
  for (const group of groups) {
    for (const a of group) for (const b of group) assert.equal(same(a, b), true, `${a} = ${b}`);
  }
});

Deno.test("different numbers are different, exactly where both are fractions", () => {
  const cases = [
    ["0.333333333", "\\frac{1}{3}"],
    ["50", "50\\%"],
    ["123456789012345678901234567890", "123456789012345678901234567891"],
    ["3.1415", "\\pi"],
    ["\\sqrt{2}", "1.4142"],
    ["2", "-2"],
    ["x^2", "2"],
    ["\\infty", "-\\infty"],
    ["1/0", "2/0"],
    ["9^{9^{9^9}}", "8^{8^{8^8}}"],
  ];
  for (const [a, b] of cases) assert.equal(same(a!, b!), false, `${a} ≠ ${b}`);
});

Deno.test("tuples, intervals, sets, lists and ± are compared as what they are", () => {
  const equal = [
    ["(1, 2)", "(1.0, \\frac{4}{2})"],
    ["\\left( 1, 2 \\right)", "(1,2)"],
    ["[0, \\infty)", "\\left[0,\\infty\\right)"],
    ["x \\in [0, 1]", "[0,1]"],
    ["\\{1, 2, 3\\}", "\\{3,2,1\\}"],
    ["\\left\\{1,2\\right\\}", "1, 2"],
    ["\\pm 2", "2, -2"],
    ["\\pm 2", "\\{-2, 2\\}"],
    ["1 \\pm \\sqrt{2}", "\\{1 + \\sqrt{2}, 1 - \\sqrt{2}\\}"],
    ["((1,2),3)", "((1, 2), 3)"],
    ["(1,234)", "(1, 234)"],
    ["\\{\\}", "\\{ \\}"],
    ["(1+2)\\cdot 3", "9"],
  ];
  for (const [a, b] of equal) assert.equal(same(a!, b!), true, `${a} = ${b}`);
  const different = [
    ["(1,2)", "(2,1)"],
    ["(1,2)", "[1,2]"],
    ["(1,2]", "(1,2)"],
    ["\\{1,2\\}", "\\{1,3\\}"],
    ["\\{1,2\\}", "(1,2)"],
    ["\\{1\\}", "1"],
    ["(1,234)", "1234"],
    ["\\pm 2", "2"],
  ];
  for (const [a, b] of different) assert.equal(same(a!, b!), false, `${a} ≠ ${b}`);
});

Deno.test("beyond the grammar the text counts, apart from spaces and typesetting", () => {
  assert.equal(same("x^2 + 1", "x^2+1"), true);
  assert.equal(same("\\left(x+1\\right)^2", "(x + 1)^2"), true);
  assert.equal(same("\\text{even}", "\\text{ even }"), true);
  assert.equal(same("B", "\\text{B}"), true);
  assert.equal(same("A", "B"), false);
  assert.equal(same("x^2+1", "1+x^2"), false);
  for (const words of ["two", "", "  ", "I do not know.", "$$"]) {
    assert.equal(parseMath(words), null, words);
  }
});

Deno.test("text of any kind is read in little time and without a crash", () => {
  const hostile = [
    "(".repeat(5000),
    "-".repeat(5000) + "1",
    "\\sqrt".repeat(3000),
    "9^".repeat(200) + "9",
    "9^{9^{9^{9}}}",
    "\\frac{1".repeat(100),
    "1,".repeat(3000),
    "9".repeat(100_000),
    "((((1,2),3),4)".repeat(20),
    "\\boxed{".repeat(3000),
    "answer is ".repeat(3000),
    "2".repeat(50) + "^{" + "3".repeat(50) + "}",
    "\\sqrt[64]{" + "7".repeat(400) + "}",
    "1\\text{".repeat(2000),
    " ".repeat(20_000) + "x",
  ];
  assertFast(2000, () => {
    for (const text of hostile) {
      findMathAnswer(text);
      const value = parseMath(text);
      if (value !== null) sameMath(value, value);
    }
  });
});
