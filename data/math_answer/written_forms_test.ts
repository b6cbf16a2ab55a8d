import assert from "node:assert/strict";
import { sameAnswer } from "./equal.ts";
import { isRight } from "./right.ts";
import { statedFormula, statedText } from "./stated.ts";

/** Gold, answers that are right, answers that are wrong. */
const FORMS: [string, string[], string[]][] = [
  // Size, weight, colour and a title change nothing.
  ["\\frac{14}{3}", [
    "\\mathbf{\\frac{14}{3}}",
    "\\bf \\frac{14}{3}",
    "\\underline{\\frac{14}{3}}",
    "\\Large{\\frac{14}{3}}",
    "\\color{red}{\\frac{14}{3}}",
    "\\textcolor{blue}{\\frac{14}{3}}",
    "\\text{Answer: }\\frac{14}{3}",
    "\\text{Total distance} = \\frac{14}{3}",
  ], ["\\mathbf{14}3", "\\text{east} = \\frac{14}{3}", "\\text{Total} = 1 = \\frac{14}{3}"]],
  ["5", ["\\mathbf 5", "\\mathrm{5}\\ \\mathrm{m/s}", "5 or 5.0"], [
    "\\{5\\}",
    "5 or 6",
    "5\\text{th root}",
    "5\\text{ (or p - q)}",
    "5\\text{ (\\pi)}",
    "5\\text{ to }6",
  ]],
  // One value in two notations is one answer.
  ["\\frac{1}{2}", ["\\frac{1}{2} = 50\\%", "\\frac12\\text{ or }0.5", "0.5 or 50%"], [
    "\\frac12 = 0.5\\%",
    "\\frac12\\text{ or }0.05",
    "\\{\\frac12\\}",
  ]],
  ["1,-2", ["x=1\\lor x=-2"], ["x=1\\lor x=2"]],
  ["(2,\\infty)", ["(2, oo)", "(2, infinity)"], ["(2, o)"]],
  ["(0,9) \\cup (9,36)", ["(0,36) \\backslash \\{9\\}"], ["(0,36) \\backslash \\{8\\}"]],
  // A choice may be called one.
  ["\\text{(B)}", ["B)", "Option B", "\\text{choice B}", "(B).", "\\text{B}"], [
    "Option C",
    "B and C",
    "\\text{(B)}, 5",
    "\\text{(B)} = 5",
    "Option B or C",
  ]],
  ["15\\mbox{ cm}^2", ["15 cm²"], ["15 m²", "15 m^2"]],
  ["4210_{5}", [
    "4210_{\\text{five}}",
    "4210\\text{ base }5",
    "4210 (base 5)",
    "4210_\\text{five}",
    "4210_{\\text{base }5}",
  ], ["4210 (base 6)", "4210_{\\text{six}}", "4210_{\\text{one}}"]],
  // A vector may be a tuple.
  ["\\begin{pmatrix} -2 \\\\ 7 \\end{pmatrix}", ["(-2,7)"], ["(7,-2)", "-2,7", "[-2,7]"]],
  ["(-2,7)", ["\\begin{pmatrix} -2 \\\\ 7 \\end{pmatrix}"], [
    "\\begin{vmatrix} -2 & 7 \\end{vmatrix}",
  ]],
  // By the alphabet where the letters follow one another, else as written.
  ["(3,\\pi)", ["r=3,\\theta=\\pi", "y=\\pi,x=3", "m=3,b=\\pi"], ["y=3,x=\\pi", "b=\\pi,m=3"]],
  ["(0,1)", ["0<f(x)<1"], ["0\\le f(x)<1", "0<f(x)<2"]],
  // A ratio that could be shortened is a time.
  ["3:30", ["3:30"], ["1:10", "0.1"]],
  ["3:30\\text{ p.m.}", ["3:30 pm", "3:30\\text{ PM}"], ["3:30 a.m.", "4:30 pm"]],
  ["2:3", ["10:15", "\\frac23"], ["3:2"]],
];

Deno.test("an answer may be written as models and people write it", () => {
  for (const [gold, right, wrong] of FORMS) {
    for (const answer of right) assert.ok(sameAnswer(answer, gold), `${answer} for ${gold}`);
    for (const answer of wrong) assert.ok(!sameAnswer(answer, gold), `${answer} not for ${gold}`);
  }
});

const stated = (text: string) => statedFormula(text) ?? statedText(text) ?? "";

Deno.test("a second guess in the sentence of an answer takes the first one back", () => {
  for (
    const text of [
      "The answer is $5$, but it could be $6$.",
      "The answer is $5$ (alternatively $6$).",
      "The answer is $5$ (or $6$).",
      "The answer is $5$? Or $6$?",
      "The answer is $5$ hours, or maybe 6.",
      "The answer is $5$ $6$.",
      "The answer is $5$ or about $6$.",
      "The answer is $5$, or equivalently $6$.",
      "Answer: 5; 6",
      "Answer: 5; or 6",
    ]
  ) {
    assert.ok(!isRight(stated(text), "5"), text);
    assert.ok(!isRight(stated(text), "6"), text);
  }
});

Deno.test("a remark, a unit or another notation after an answer takes nothing back", () => {
  for (
    const text of [
      "The answer is $\\frac{14}{3}$ or approximately $4.67$.",
      "The answer is $\\frac{14}{3}$, or equivalently $4\\frac{2}{3}$.",
      "The answer is $\\frac{14}{3}$ (or $4\\frac23$).",
      "The answer is $\\frac{14}{3}$ hours or $4\\frac23$ hours.",
      "The answer is $\\frac{14}{3}$, but note that $x \\ne 0$.",
      "The answer is $\\frac{14}{3}$ $\\text{cm}$.",
      "The answer is $\\frac{14}{3}$ for $x=1$ or $x=2$.",
      "The answer is $\\frac{14}{3}$, as $x$ or $y$ must be 0.",
      "Answer: \\frac{14}{3}; this is what was asked",
      "Answer: \\; \\frac{14}{3} sq. units",
      "Answer: 4⅔",
    ]
  ) {
    assert.ok(isRight(stated(text), "\\frac{14}{3}"), `${text} → ${stated(text)}`);
  }
});
