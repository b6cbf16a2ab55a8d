import assert from "node:assert/strict";
import { assertFast } from "../../core/time_limit_testing.ts";
import { sameAnswer } from "./equal.ts";
import { findMathAnswer, findMathAnswerNear } from "./find.ts";
import { parseMath } from "./reading/parse.ts";

/** Both ways round. */
function same(a: string, b: string): boolean {
  const one = sameAnswer(a, b);
  assert.equal(sameAnswer(b, a), one, `${a} and ${b} the other way round`);
  return one;
}

Deno.test("the answer is the last box, else the announced formula, never a bare number", () => {
  const cases: [string, string | null][] = [
    ["My answer is \\boxed{\\frac{1}{3}}", "\\frac{1}{3}"],
    ["\\boxed{3} and \\boxed{4}", "4"],
    ["\\boxed{3} and \\boxed{4", "3"],
    ["\\boxed{\\{1,2\\}}", "\\{1,2\\}"],
    ["\\boxed{a\\}b}", "a\\}b"],
    ["so \\boxed 72.", "72"],
    ["so \\boxed{1} $\\boxed-1,250$", "-1,250"],
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

Deno.test("TRL's rewards find a formula near the word answer; the data sets' scores do not", () => {
  const cases: [string, string | null][] = [
    ["Final answer: $9$", "9"],
    ["**Answer:** \\(\\frac{1}{2}\\).", "\\frac{1}{2}"],
    ["The answer, as found above, equals $$-2$$", "-2"],
    ["Answer: $1$. My final answer, then, is: $2$. Or is the answer $3$?", "2"],
    ["answers differ: answer: $4$, answer $5$", "4"],
    ["The answer is $\\$18.90$", "\\$18.90"],
    ["The answer is $5\nand $6", null],
    ["The answer is $$5\n+ 1$$", "5\n+ 1"],
    [`The answer${" ".repeat(60)}$5$`, null],
    ["Solving gives $5$", null],
  ];
  for (const [text, answer] of cases) assert.equal(findMathAnswerNear(text), answer, text);
  for (const sign of ["$x = -", "\\[-", "$- ", "= −"]) {
    assert.equal(findMathAnswer(`${sign}\\boxed{4}$`), "-(4)", sign);
  }
  for (const dash of ["- ", "so -", "5-", "$5 - "]) {
    assert.equal(findMathAnswer(`${dash}\\boxed{4}`), "4", dash);
  }
  assert.equal(findMathAnswer("Answer: she earns $18 and then $20"), null);
  for (const opening of ["$", "$$", "\\(", "\\["]) {
    const text = `answer is ${opening}`.repeat(10_000);
    assertFast(500, () => void findMathAnswerNear(text), opening);
  }
});

Deno.test("equal numbers in any notation of the grammar are equal", () => {
  const groups = [
    ["72", "72.0", "$72$", "+72", " 72. ", "x = 72", "72\\text{ cm}", "72\\mathrm{cm}^2"],
    ["72", "\\$72", "72 dollars"],
    ["1000", "1,000", "1{,}000", "1\\,000", "10^3", "1e3", "10^{3}", "1,000.00"],
    ["\\frac{1}{2}", "\\dfrac12", "1/2", "0.5", ".5", "50\\%", "50%", "\\frac{2}{4}", "2^{-1}"],
    ["-\\frac{1}{3}", "\\frac{-1}{3}", "-1/3", "−1/3", "\\frac{1}{-3}"],
    ["2", "\\sqrt{4}", "\\sqrt[3]{8}", "4^{1/2}", "4^{0.5}", "\\sqrt4", "1 + 1", "4/2", "(2)"],
    ["2\\pi", "2 \\cdot \\pi", "6.283185307", "\\frac{4\\pi}{2}"],
    ["\\frac{\\sqrt{2}}{2}", "\\frac{1}{\\sqrt2}", "1/\\sqrt{2}", "0.70710678", "\\sqrt{1/2}"],
    ["3\\sqrt{2}", "\\sqrt{18}"],
    ["1\\frac{1}{2}", "1.5", "\\frac{3}{2}"],
    ["-1\\frac{1}{2}", "-1.5"],
    ["90^\\circ", "90^{\\circ}", "90 degrees"],
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
    ["50", "5\\%"],
    ["5", "5\\text{ million}"],
    ["5", "5 or 6"],
    ["15", "1{,}5"],
    ["1", "6-5\\mathrm{i}"],
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

Deno.test("what authors and models write for the same answer is the same", () => {
  const groups: string[][] = [
    ["72", "72 clips", "72 miles per hour", "72 (clips)", "**72**", "`72`", "= 72", "72;"],
    ["72", "$72 per day"],
    ["\\$32,\\!348", "32348", "32,348", "\\$32{,}348", "32,348 dollars", "32 348", "32'348"],
    ["11,\\! 111,\\! 111,\\! 100", "11111111100", "11,111,111,100"],
    ["1.5", "1 1/2", "1½", "{3 \\over 2}", "\\sfrac{3}{2}", "150%", "150 percent"],
    ["-3 8/9", "-\\frac{35}{9}", "–\\frac{35}{9}"],
    ["\\frac{1}{6}", "0.1\\overline{6}"],
    ["x^3+3x-6", "x**3+3*x-6", "x³+3x−6"],
    ["10%", "10\\text{ percent}"],
    ["10%", "0.1"],
    ["1,250%", "1{,}250\\%"],
    ["33\\frac13\\%", "33 1/3 %", "100/3 \\%", "33 1/3 percent"],
    ["4\\times10^5", "4E5", "4.0E+05", "400 thousand", "0.4\\text{ million}"],
    ["\\frac{9}{7}", "x = \\frac{9}{7} \\approx 1.2857", "\\theta \\approx 9/7", "9⁄7"],
    ["\\frac{9}{7}", "Answer: 9/7", "９/７"],
    ["2\\sqrt5", "\\sqrt{20} = 2\\sqrt5", "x = \\sqrt{4 + 16} = \\sqrt{20}", "2\\sqrt5 ≈ 4.47"],
    ["9.8", "9.8 m/s^2", "9.8 m/s²", "9.8 km per hour", "$9.8/hour", "≈ 9.8", "approximately 9.8"],
    ["3", "3 times", "3 times a day", "3\\text{ times}", "3 hr", "3 oz", "\u200b3"],
    ["3", "m\\angle A = 3"],
    ["\\frac13\\begin{pmatrix}-1\\\\6\\end{pmatrix}", "\\begin{bmatrix}-1/3\\\\2\\end{bmatrix}"],
    ["(-\\infty,\\infty)", "\\mathbb{R}", "x \\in \\mathbb R", "ℝ"],
    ["(2,5)", "\\{x \\mid 2<x<5\\}", "（2，5）"],
    ["3\\sqrt{13}", "3√13", "3\\sqrt13", "3*sqrt(13)", "3 sqrt(13)"],
    ["288 \\pi", "288pi", "288\\pi cubic units", "288\\pi\\text{ cm}^3"],
    ["90^\\circ", "90º", "90°C", "\\angle ABC = 90^\\circ"],
    ["6 - 5i", "-5i+6", "6+(-5)i", "6-5\\mathrm{i}"],
    ["x^2+1", "1+x^2", "x^{2} + 1", "x\\cdot x+1", "f(x) = x^2+1", "1 + x²"],
    ["(a+5)(b+2)", "(b+2)(a+5)", "ab+2a+5b+10"],
    ["\\frac{11+9a}{20}", "(9a+11)/20", "\\frac{1}{20}(9a+11)"],
    ["5x - 7y + 11z + 4 = 0", "5x-7y+11z=-4", "10x - 14y + 22z + 8 = 0"],
    ["y = 2x + 3", "2x+3", "y = 3 + 2x"],
    ["y = 2x + 3", "2x - y + 3 = 0", "y - 3 = 2x", "y - 5 = 2(x - 1)"],
    ["2\\mathbf{i}-3\\mathbf{j}", "-3j + 2i"],
    ["60 mph", "60mph", "60 miles per hour"],
    ["2\\text{ m}", "200\\text{ cm}", "0.002 km", "2"],
    ["15\\mbox{ cm}^2", "15\\text{ square centimeters}", "15 cm", "\\frac{3}{2000}\\text{ m}^2"],
    ["\\$0.054", "5.4 \\text{ cents}"],
    ["2^n", "2\\cdot 2^{n-1}"],
    ["\\cot x", "\\cot(x)", "cot x", "\\frac{\\cos x}{\\sin x}"],
    ["\\sin^2 x", "(\\sin x)^2", "1-\\cos^2(x)"],
    ["\\log_2 3", "\\frac{\\ln 3}{\\ln 2}"],
    ["\\frac{1}{e}", "e^{-1}", "exp(-1)"],
    ["|x|", "\\lvert x \\rvert", "\\sqrt{x^2}"],
    ["120", "5!", "\\binom{10}{3}", "{10 \\choose 7}"],
    ["1,-2", "x = 1 \\text{ or } x = -2", "1 and -2", "$1$, $-2$"],
    ["3, 5, 7", "3, 5, and 7", "7,\\ 5,\\ 3", "{3, 5, 7}"],
    ["(6,31,-1)", "(a,b,c)=(6,31,-1)", "6,31,-1", "\\langle 6,31,-1\\rangle"],
    ["x \\in [-2,7]", "-2 \\le x \\leq 7"],
    ["\\text{(A), (C)}", "A and C", "(C) and (A)"],
    ["x \\ne 2", "x \\neq 2", "x≠2"],
    ["(2,\\infty)", "x > 2", "2 < x", "(2,+∞)"],
    ["(-\\infty, 2) \\cup (3, \\infty)", "(3,∞)∪(-∞,2)", "(-∞, 2) U (3, ∞)"],
    ["(-\\infty,-2] \\cup (3,5)", "x \\le -2 \\text{ or } 3 < x < 5"],
    ["(1,2)", "x=1,y=2", "y = 2, x = 1", "x = 1 and y = 2"],
    ["A1_{16}", "A1_16"],
    ["52_8", "52_{8}", "52_{\\text{8}}"],
    ["\\text{(C)}", "C", "\\textbf{(C)}", "(C)."],
    ["\\text{east}", "East", "east."],
    ["\\emptyset", "\\varnothing", "\\{\\}"],
    [
      "\\begin{pmatrix} -1/3 \\\\ 2/3 \\end{pmatrix}",
      "\\begin{bmatrix}-\\frac13\\\\[1ex]\\frac23\\end{bmatrix}",
      "v = \\left(\\begin{array}{c} -1/3 \\\\ 2/3 \\\\ \\end{array}\\right)",
    ],
  ];
  for (const group of groups) {
    for (const other of group) assert.equal(same(group[0]!, other), true, `${group[0]} = ${other}`);
  }
  assert.equal(sameAnswer("52", "52_8"), true, "the question names the base");
  assert.equal(sameAnswer("52_8", "52"), false);
  assert.equal(sameAnswer("x = 5", "x = 5^\\circ"), true, "the question names the unit");
  assert.equal(sameAnswer("x = 5^\\circ", "x = 5"), false);
});

Deno.test("what only looks like the answer is not the same", () => {
  const cases: [string, string][] = [
    ["52_8", "52_9"],
    ["p - q", "q - p"],
    ["p - q", "P - Q"],
    ["3R^2", "3r^2"],
    ["a+c", "2b"],
    ["ab", "ac"],
    ["x", "|x|"],
    ["x", "\\sqrt{x^2}"],
    ["2k+2", "2k"],
    ["5", "5i"],
    ["5", "5x"],
    ["\\text{east}", "seat"],
    ["x=1,y=2", "x=2,y=1"],
    ["x^2+y^2=25", "x^2-y^2=25"],
    ["a < c", "b < c"],
    ["y = 2x + 3", "2x + y + 3 = 0"],
    ["5", "x + 2 = 7"],
    ["4", "2 + 3 = 4"],
    ["5", "x = 5 = 6"],
    ["9", "1.2 ≈ 1.3"],
    ["4", "3 ≈ 4"],
    ["4", "3 ≈ 4 ≈ 5"],
    ["4.2", "4.1 ≈ 4.2"],
    ["the city approximately doubled", "The city approximately tripled"],
    ["3x", "3 times x"],
    ["5", "5 million"],
    ["33", "33\\frac13\\%"],
    ["\\begin{vmatrix}3\\end{vmatrix}", "3\\begin{vmatrix}1\\end{vmatrix}"],
    ["\\begin{pmatrix}(1,2)\\end{pmatrix}", "2\\begin{pmatrix}(1,2)\\end{pmatrix}"],
    ["2\\mathbf{i}-3\\mathbf{j}", "2\\mathbf{i}-3"],
    ["(-\\infty,-2] \\cup (3,5)", "x < -2 or 3 < x < 5"],
    ["(3,4]", "3 \\le x < 4"],
    ["(-\\infty,2)\\cup(3,\\infty)", "(-\\infty,2]\\cup[3,\\infty)"],
    ["\\begin{pmatrix}1&2\\\\3&4\\end{pmatrix}", "\\begin{pmatrix}1&3\\\\2&4\\end{pmatrix}"],
    ["\\begin{pmatrix}1\\\\2\\end{pmatrix}", "\\begin{pmatrix}1&2\\end{pmatrix}"],
    ["2", "\\text{no solution}"],
    ["60 mph", "60 km/h"],
    ["5\\text{ cm}", "5\\text{ m}"],
    ["\\$36", "36^\\circ"],
    ["5.4 \\text{ cents}", "\\$5.40"],
    ["30 radians", "30^\\circ"],
    ["9", "9 doubled"],
    ["", ""],
  ];
  for (const [a, b] of cases) assert.equal(same(a, b), false, `${a} ≠ ${b}`);
});

Deno.test("tuples, intervals, sets, lists and ± are compared as what they are", () => {
  const equal = [
    ["(1, 2)", "(1.0, \\frac{4}{2})"],
    ["\\left( 1, 2 \\right)", "(1,2)"],
    ["[0, \\infty)", "\\left[0,\\infty\\right)"],
    ["(5, \\infty)", "(5, inf)"],
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
  for (const words of ["two", "", "  ", "I do not know.", "$$"]) {
    assert.equal(parseMath(words), null, words);
  }
});
