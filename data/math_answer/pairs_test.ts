import assert from "node:assert/strict";
import { assertFast } from "../../core/time_limit_testing.ts";
import { sameAnswer } from "./equal.ts";

type Answers = readonly [gold: string, ...answers: string[]];

const RIGHT: readonly Answers[] = [
  ["(-2,2)", "|x|<2"],
  ["|x|<2", "-2<x<2", "3-|x|>1"],
  ["(-\\infty,-2]\\cup[4,\\infty)", "|x-1|\\ge 3"],
  ["-3\\le x\\le 2", "|2x+1|\\le 5"],
  ["x\\ne0", "|x|>0"],
  ["1\\leq|z|\\leq \\frac{3}{2}", "z \\in [-\\frac{3}{2}, -1] \\cup [1, \\frac{3}{2}]"],
  ["\\frac32", "1 1/2"],
  ["\\frac{40}{9}", "4 \\frac{4}{9}"],
  ["28\\%", "28 pct", "28 percentage", "28\\text{ percent}", "28", "0.28"],
  ["x != 3", "x \\neq 3"],
  ["x\\ne3", "x!=3"],
  ["-x>-1", "x<1"],
  ["1≤|z|≤3/2", "1 \\le |z| \\le \\frac32"],
  ["1 \\le |z| \\le \\frac{3}{2}", "1≤|z|≤1.5"],
  ["x \\le 2", "2x \\le 4"],
  ["5 \\le x", "x \\ge 5"],
  ["x <= 1", "-x >= -1"],
  ["x+y<2", "2x+2y<4"],
  ["x^2/4 + y^2/3 = 1", "x^2/16 + y^2/12 = 1/4"],
  [
    "\\begin{pmatrix}6 & 8 \\\\ 10 & 12\\end{pmatrix}",
    "\\begin{pmatrix}1 & 2 \\\\ 3 & 4\\end{pmatrix} + \\begin{pmatrix}5 & 6 \\\\ 7 & 8\\end{pmatrix}",
  ],
  [
    "\\begin{pmatrix}1 & 0 \\\\ 0 & 1\\end{pmatrix}",
    "\\begin{pmatrix}1 & 0 \\\\ 0 & 1\\end{pmatrix} \\begin{pmatrix}1 & 0 \\\\ 0 & 1\\end{pmatrix}",
  ],
  ["\\begin{pmatrix}7&10\\\\15&22\\end{pmatrix}", "\\begin{pmatrix}1&2\\\\3&4\\end{pmatrix}^2"],
  ["2i", "\\sqrt{-4}"],
  ["-1", "e^{i\\pi}"],
  ["AB=4, CD=5", "AB=4,CD=5"],
  ["AB=4,CD=5", "CD=5,AB=4"],
  ["11:21", "V_1:V_2=11:21", "22:42"],
  ["p=7,q=2;p=5,q=2", "p=5,q=2;p=7,q=2"],
  ["p=5,q=2;p=7,q=2", "p=5, q=2 or p=7, q=2"],
  ["1,2", "x=1orx=2"],
  ["x=1 or x=2", "1or2"],
  ["(-\\infty,-2)\\cup(2,\\infty)", "x>2orx<-2"],
  ["(2,5)", "2<x \\text{ and } x<5", "x>2, x<5"],
  ["(-\\infty,1)\\cup(2,\\infty)", "x<1 \\text{ or } x>2"],
  ["\\frac12", "\\sin 30^\\circ"],
  ["1/2", "\\sin\\frac{\\pi}{6}"],
  ["\\frac{1+\\sqrt5}{4}", "\\cos\\frac{\\pi}{5}"],
  ["1+\\sqrt2", "\\sqrt{3+2\\sqrt2}"],
  ["3", "\\log_2 8", "\\lfloor 3.7 \\rfloor"],
  ["2", "\\ln e^2", "\\max(1,2)"],
  ["4", "\\sqrt{2}\\sqrt{8}"],
  ["\\sqrt3+\\sqrt2", "\\frac{1}{\\sqrt3-\\sqrt2}"],
  ["\\sec^2(y)", "\\tan^2(y)+1"],
  ["\\frac{1}{3\\sqrt[3]{x}^2}", "\\frac{1}{3x^{2/3}}"],
  ["(n+1)\\cdot n!", "(n+1)!"],
  ["\\frac{n(n-1)}{2}", "\\binom{n}{2}"],
  ["(-1)^n", "(-1)^{n+2}"],
  ["f(y)+f(x)", "f(x)+f(y)"],
  ["\\frac{h(a+b)}{2}", "\\frac{ha+hb}{2}"],
  ["|3-x|", "|x-3|"],
  ["|x+3|", "\\sqrt{(x+3)^2}"],
  ["\\sqrt a\\sqrt b", "\\sqrt{ab}"],
  ["2\\ln x", "\\ln x^2"],
  ["A", "\\text{(A)}"],
  ["52_8", "52"],
  ["\\sqrt2", "1.414213562"],
  ["2\\pi", "6.2831853"],
  ["\\pi", "3.14159"],
  ["\\frac34", "3/4 (0.75)", "75% (3/4)"],
  ["\\frac13", "\\frac13 (or 0.33)"],
  ["\\frac{9}{16}", "\\frac34 (0.75)"],
  ["-\\frac{\\pi}{4}", "-0.785398"],
  ["(-\\infty,3)\\cup(3,\\infty)", "\\mathbb{R}\\setminus\\{3\\}", "x\\ne 3"],
  ["x-y=1", "-x+y=-1"],
  ["2x+4y-3=0", "y=-\\frac12x+\\frac34"],
  ["-34x-45y+20z-100=0", "34x+45y-20z+100=0"],
  ["(1,2)", "x=1,y=2"],
  ["\\left(\\frac{3}{5},\\frac{8}{3}\\right]", "(0.6,\\frac83]"],
  ["\\sqrt{10}", "10^{1/2}"],
  ["(\\frac32,\\frac{13}{4})", "(1 1/2, 3 1/4)"],
  ["\\sin (a + b) - \\sin (a - b)", "2\\sin b\\cos a"],
  ["e^{i\\theta}", "\\cos\\theta+i\\sin\\theta"],
  ["(2,\\infty)", "\\{x : x>2\\}"],
  ["90", "\\frac{10!}{8!}"],
  ["-1+\\sqrt2, -1-\\sqrt2", "-1 \\pm \\sqrt 2"],
  ["(x-1)(x+1)", "x^2-1"],
  ["19, 46, and 82", "19, 46, \\text{ and } 82"],
  ["[0,9]", "[0,5)\\cup(3,9]"],
  ["18", "18 more apples"],
  ["(11,7)or(7,11)", "(7,11),\\ (11,7)"],
  ["k = 45, n = 2", "k = 45 and n = 2"],
  [
    "x_{1}=10^{\\frac{-5+\\sqrt{13}}{6}},\\quadx_{2}=10^{\\frac{-5-\\sqrt{13}}{6}}",
    "10^{\\frac{\\sqrt{13} - 5}{6}}, 10^{-\\frac{5 + \\sqrt{13}}{6}}",
  ],
  ["|AB|=1", "1"],
  ["\\frac{NO}{BO}=\\frac{1}{\\sqrt{6}}", "\\frac{1}{\\sqrt{6}}"],
  [
    "(37,3,3,13),(17,3,3,7),(3,37,3,13),(3,17,3,7),(3,3,2,3)",
    "(3, 37, 3, 13), (3, 17, 3, 7), (3, 3, 2, 3), (3,17,3,7), (17,3,3,7), (37,3,3,13)",
  ],
  ["(5, 12\\sqrt{13}-\\frac17]", "12\\sqrt{13} - \\frac17 >= x > 5"],
  ["(2,12) \\cup (12,102)", "12 > x > 2 \\text{ or } 12 < x < 102"],
  ["\\frac43", "\\frac43 \\approx 1.333"],
  ["2.65", "x \\approx 2.65"],
  ["1.333", "\\frac43 \\approx 1.333"],
  ["2\\sqrt5", "2\\sqrt{5} \\approx 4.47 \\text{ cm}"],
];

const WRONG: readonly Answers[] = [
  ["(-2,2]", "|x|<2"],
  ["x<2", "|x|<2", "x \\le 2"],
  ["(-2,2)", "|x|>2", "|x|+x<2"],
  ["(-4,2)", "|x-1|<3"],
  ["(-1,1)", "|x|<-1"],
  ["x<0", "|x|\\le 0"],
  ["\\text{(B)}", "\\text{(B)} \\text{(C)}"],
  ["x+2", "|x+2|"],
  ["|x+y|", "|x|+|y|"],
  ["x+3", "\\sqrt{(x+3)^2}"],
  ["1000001", "1000000+\\sqrt{2}"],
  ["x>2 or x<5", "x>2 and x<5"],
  ["(2,5)", "x>2 or x<5"],
  ["11", "11 6/6", "11 \\quad \\text{Evelyn}", "11 \\text{ Evelyn}"],
  ["3.5", "6/2\\frac{1}{2}"],
  ["\\frac32", "\\frac{3}{2}!"],
  ["\\infty", "10^{400}"],
  ["10^{400}", "\\infty"],
  ["f(x+y)", "f(x)+f(y)"],
  ["27", "27\\degree", "27\\%", "\\pi \\approx 27"],
  ["\\frac{\\pi}{6}", "\\frac{\\pi}{6}^\\circ"],
  ["2f(x)", "f(2x)"],
  ["x>2", "y>2", "x<2"],
  ["x<-2", "-2x<4"],
  ["1≤|z|≤3/2", "1≤|z|≤2"],
  [
    "\\begin{pmatrix}2&2\\end{pmatrix}",
    "\\begin{pmatrix}1&2\\end{pmatrix}+\\begin{pmatrix}1&1\\end{pmatrix}",
  ],
  ["2", "(1+i)^2", "\\sqrt{4+10^{-40}}", "\\sqrt{4+10^{-400}}", "\\frac32 \\approx 2"],
  ["2", "2 \\approx 2\\sqrt{113}"],
  ["11:21", "21:11"],
  ["1:00", "12:00"],
  ["p=5,q=2;p=7,q=2", "p=5,q=7;p=2,q=2"],
  ["\\sqrt2", "\\sqrt{2}+10^{-50}", "1.414213563"],
  ["3.14", "\\pi"],
  ["\\pi", "3.1416", "3.14160", "-3.14159", "3.14", "\\frac{355}{113}", "180^\\circ"],
  ["\\frac13", "0.333", "0.333333333"],
  ["262537412640768744", "e^{\\pi\\sqrt{163}}"],
  ["|x|", "e^{\\ln x}", "\\sqrt{x}^2"],
  ["\\sqrt{ab}", "\\sqrt a\\sqrt b"],
  ["\\ln x^2", "2\\ln x"],
  ["\\lfloor x\\rfloor", "x"],
  ["1000000-x", "|x-1000000|"],
  ["x", "\\max(x,10)", "x^3", "xy"],
  ["1000", "\\max(x,1000)"],
  ["|2x-3|", "|x-1|+|x-2|"],
  ["x-1", "\\sqrt{x^2-2x+1}"],
  ["1", "(-1)^n", "\\cos(2\\pi n)"],
  ["n", "n!"],
  ["f(a,d)f(c,b)", "f(a,b)f(c,d)"],
  ["f(x)", "f'(x)", "f^{-1}(x)"],
  ["f^{-1}(x)", "\\frac{1}{f(x)}"],
  ["1.25", "1.25 \\approx 2k"],
  ["0", "0 \\approx \\pi", "10^{-400}"],
  ["\\frac{3}{56}", "\\frac{3}{56} \\approx \\frac{5}{13}"],
  ["1/3", "0 \\quad \\frac{1}{3}"],
  ["225", "0 225"],
  ["5x - 7y + 11z + 4 = 0", "\\pi = 5x - 7y + 11z + 4 = 0"],
  ["5", "5 or 6", "5 (6)", "5\\text{ million}", "5\\text{a}", "5 \\approx 5r^5"],
  ["0.8", "3/4 (0.8)"],
  ["\\frac34", "3/4 (0.6)"],
  ["3", "3 (3)", "2 \\frac32"],
  ["72", "72\\text{ or more}", "72\\text{ and up}", "72\\text{ at most}", "72\\text{ tens}"],
  ["8^{8^{8^8}}", "9^{9^{9^{9}}}"],
  ["64", "2^3!"],
  ["120", "5!!"],
  ["1.4142", "\\sqrt2"],
  ["1000000", "1000000.0000001"],
  ["\\sin(10^{30}+1)", "\\sin(10^{30})"],
  ["10^{-401}", "10^{-400}"],
  ["\\sqrt3\\cdot 10^{-400}", "\\sqrt2\\cdot10^{-400}"],
  ["\\sqrt2\\cdot10^{-400}", "0"],
  ["y=|x|^2+1", "y=x^2"],
  ["x^2=0", "x=0"],
  ["\\text{east} \\text{west}", "\\text{east}"],
  ["(1,2)", "\\{1,2\\}"],
  ["[1,2]", "(1,2)"],
  ["x>1", "x>1 \\text{ and } x>2"],
  ["(3,2)", "2,3"],
  ["3i+2", "2i+3"],
  ["i", "-i"],
  ["2000", "2000 \\quad \\text{ellipse}"],
  ["9901", "9901 \\quad \\text{(C)}", "9901 \\text{(C)}"],
  ["\\sqrt{51}", "\\sqrt{51}\n\\text{even}"],
  ["\\frac43", "\\frac43 \\approx 1+2\\sqrt{3}"],
  ["\\frac23", "\\frac23 \\approx 1\\frac45"],
  ["-2", "-2 \\approx -2+7i"],
  ["\\sqrt{53}", "\\sqrt{53} \\approx 7\\pi"],
  ["180^\\circ", "\\pi"],
  ["\\$36", "36^\\circ"],
  ["x^2y", "yxz"],
  ["y=2x+3", "x=2y+3"],
  ["1,2,2", "1,1,2"],
  ["\\{1,2,3\\}", "\\{\\{1,2\\},3\\}"],
  ["42", "42 doubled", "42 maybe"],
  ["\\frac{14}{3}", "\\frac{14}{3} degrees", "\\frac{14}{3}\\text{ percent}"],
  ["(a+5)(b+2)", "\\max (a+5)(b+2)"],
  ["\\text{(C)}", "\\max \\text{(C)}"],
  ["6 - 5i", "6 - 5i 1"],
];

/** The answers that are taken for right, or for wrong. */
function judged(rows: readonly Answers[], right: boolean): string[] {
  return rows.flatMap(([gold, ...answers]) =>
    answers.filter((answer) => sameAnswer(answer, gold) === right)
      .map((answer) => `${answer} ‖ ${gold}`)
  );
}

Deno.test("answers with the meaning of the gold answer are right", () => {
  assert.deepEqual(judged(RIGHT, false), []);
});

Deno.test("answers that only look like the gold answer are wrong", () => {
  assert.deepEqual(judged(WRONG, true), []);
});

/** Texts that make a careless pattern, parser or evaluation take very long when repeated. */
const PIECES = (
  "( - \\sqrt 9^ \\frac{1 1, 9 ((1,2), 1\\text{ x_1^{ | (x+y)^{64} \\sin 500! ! ∪ \\quad or x<1, x=1, " +
  "a=1; 1: ≈ \\begin{pmatrix} \\end{pmatrix} & \\\\ { } \\left( 1/ 1+ x* 2^{ \\ln( % {,} AB=1, f( g' " +
  "\\lfloor 1≤ \\max(1, 1,000 ** \\( = x= ±1 \\pm i^ 1e999 10^ １ ² ½ _1 \\frac12 \\binom{9}{ \\circ " +
  "x^2+ \\sqrt{x+ \\sqrt{2}+ |x|+ |x-1|* \\sin(x)+ 7^{1/3}+ x^x^ /0 1000!+ 9^{999}* 9^{999}+ e^{e^{e}}+ " +
  "2^{0.1}+ x^{999}+ (x+1)^{999}* \\frac{1}{997}+ (x+1)^{(x+1)^{ 1$ 1° 500!!"
).split(" ");

const LARGE = [
  "10^10^10",
  "9^{9^{9^9}}",
  "(10^{10^{10}})!",
  "((((9!)!)!)!)!",
  "2^{100000}",
  "3^{10^9}",
  "\\sqrt[999]{2}",
  "\\sqrt[9999999999]{2}",
  "\\sin(10^{400})",
  "\\sin(9^{999})",
  "e^{10^{12}}",
  "1e999",
  "\\lfloor 10^{400}\\pi\\rfloor",
  "\\lfloor\\sqrt2\\sqrt2\\rfloor",
  "x^{10^9}",
  "(x+1)^{4000}",
  "(1+i)^{4096}",
  "\\binom{10^9}{5\\cdot10^8}",
  "1.0000000000000000000000000000000001^{10^{30}}",
  "\\sqrt{2}+\\sqrt{3}+\\sqrt{5}+\\sqrt{7}+\\sqrt{11}+\\sqrt{13}+\\sqrt{17}+\\sqrt{19}",
];

const MILLISECONDS = 50;

Deno.test("a comparison takes little time, whatever the texts are", () => {
  for (const piece of PIECES) {
    for (const length of [60, 300, 2900, 100_000]) {
      const text = piece.repeat(Math.ceil(length / piece.length));
      for (const answer of [`${text}1`, `1${text}`, text.slice(0, length)]) {
        const what = `${piece} repeated to ${length}`;
        assertFast(MILLISECONDS, () => void sameAnswer(answer, `${answer} +0`), what);
        assertFast(MILLISECONDS, () => void sameAnswer(answer, "\\frac{14}{3}"), what);
      }
    }
  }
  for (const text of LARGE) {
    for (const other of [`${text}+0`, `${text}+1`, `2\\cdot ${text}/2`, "\\sqrt{2}"]) {
      assertFast(MILLISECONDS, () => void sameAnswer(text, other), `${text} ‖ ${other}`);
    }
  }
});
