import assert from "node:assert/strict";
import { isRight } from "./right.ts";

Deno.test("a formula of the question is no answer to it, even where it has the gold's value", () => {
  const cases: [question: string, gold: string, answer: string, right: boolean][] = [
    ["Compute $\\sqrt{48 \\cdot 27}$.", "36", "\\sqrt{48\\cdot27}", false],
    ["Compute $\\sqrt{48 \\cdot 27}$.", "36", "36", true],
    ["Compute $\\sqrt{48 \\cdot 27}$.", "36", "\\sqrt{1296}", true],
    ["Compute $\\sqrt{48 \\cdot 27}$.", "36", "\\sqrt{48 \\cdot 27} = 36", true],
    ["Factor \\[ab+5b+2a+10.\\]", "(a+5)(b+2)", "ab+5b+2a+10", false],
    ["Factor \\[ab+5b+2a+10.\\]", "(a+5)(b+2)", "(b+2)(a+5)", true],
    ["Simplify \\(\\frac{84}{144}\\).", "\\frac{7}{12}", "\\frac{84}{144}", false],
    ["Simplify \\(\\frac{84}{144}\\).", "\\frac{7}{12}", "\\frac{7}{12}", true],
    ["What is $x$ if $x = 2\\cdot 3$?", "6", "2\\cdot 3", false],
    // Answers that the question contains by chance, and answers that the gold itself repeats.
    ["A coin shows heads with $0.5$, so $x$ ...", "\\frac12", "0.5", true],
    ["Of $\\frac{1}{2}$ and $\\frac{1}{3}$, the larger?", "0.5", "\\frac{1}{2}", true],
    ["Is $\\sqrt{5}$ or $\\sqrt{6}$ larger?", "\\sqrt6", "\\sqrt{6}", true],
    ["Is $p - q$ it?", "p-q", "p - q", true],
    ["Compute 2+3.", "5", "2+3", true],
  ];
  for (const [question, gold, answer, right] of cases) {
    assert.equal(isRight(answer, gold, question), right, `${question} ${answer}`);
  }
});
