/** Forms of one value, and values that look alike: floats as programs print them, systems, sets. */
import assert from "node:assert/strict";
import { sameAnswer } from "./equal.ts";

function holds(right: boolean, pairs: readonly (readonly [string, string])[]) {
  for (const [answer, gold] of pairs) {
    assert.equal(sameAnswer(answer, gold), right, `${answer} for ${gold}`);
  }
}

Deno.test("an irrational number may be written as a float64 that a program printed", () => {
  holds(true, [
    ["98.99494936611666", "70\\sqrt{2}"],
    ["-98.99494936611666", "-70\\sqrt2"],
    ["70\\sqrt2", "98.99494936611666"],
    ["1.4142135623730951", "\\sqrt2"],
    ["28.274333882308138", "9\\pi"],
    ["8.660254037844387", "5\\sqrt3"],
    ["11.180339887498949", "5\\sqrt5"],
  ]);
  holds(false, [
    ["28.27433388230814000", "9\\pi"],
    ["98.99494936621666", "70\\sqrt2"],
    ["98.9949493661167", "-70\\sqrt2"],
    ["11.180339887488949", "5\\sqrt5"],
    ["3.14159265358980", "\\pi"],
    ["0.3333333333333333", "\\frac13"],
  ]);
});

Deno.test("a repeating decimal has a bar, a dot, brackets or three periods and dots", () => {
  holds(true, [
    ["0.\\dot{3}", "\\frac13"],
    ["0.(3)", "\\frac13"],
    ["-0.1(6)", "-\\frac16"],
    ["0.1666...", "\\frac16"],
    ["0.333\\ldots", "\\frac13"],
    ["0.142857142857142857…", "\\frac17"],
  ]);
  holds(false, [["0.(3)", "0"], ["0.33...", "\\frac13"], ["0.1666...", "\\frac53"]]);
});

Deno.test("a system, all real numbers and no solution are read as what they say", () => {
  holds(true, [
    ["\\begin{cases}x=1\\\\y=2\\end{cases}", "(1,2)"],
    ["\\begin{cases} y = 2, \\\\ x = 1 \\end{cases}", "x=1, y=2"],
    ["\\begin{aligned}x&=1\\\\y&=2\\end{aligned}", "(1,2)"],
    ["\\left\\{\\begin{array}{l}x=1\\\\y=2\\end{array}\\right.", "(1,2)"],
    ["\\text{all real numbers}", "(-\\infty,\\infty)"],
    ["\\mathbb{R}", "\\text{all real numbers}"],
    ["\\text{no solution}", "\\emptyset"],
    ["\\{x \\mid x \\ne 3\\}", "(-\\infty,3)\\cup(3,\\infty)"],
  ]);
  holds(false, [
    ["\\begin{cases}x=2\\\\y=1\\end{cases}", "(1,2)"],
    ["\\text{no solution}", "0"],
    ["\\text{all real numbers}", "(0,\\infty)"],
    ["\\text{all positive real numbers}", "\\mathbb{R}"],
  ]);
});

Deno.test("the name of a coordinate counts where both have one", () => {
  holds(true, [["3=x", "3"], ["3=x", "x=3"], ["x=3", "3"], ["x=y", "y=x"], ["n=3", "x=3"]]);
  holds(false, [["x=3", "y=3"], ["y=\\frac\\pi2", "x=\\frac\\pi2"], ["4=x", "3"], ["3=y", "x=3"]]);
});

Deno.test("a text of LaTeX may hold the number too, and a number in brackets a base", () => {
  holds(true, [["\\text{4 apples}", "4"], ["3\\hspace{2mm}", "3"], ["\\text{12 meters}", "12"], [
    "(101)_2",
    "101_2",
  ]]);
  holds(false, [["\\text{3 or 4}", "4"], ["(101)_3", "101_2"], ["\\text{4 dozen}", "4"]]);
});
