import { assertFast } from "../../core/time_limit_testing.ts";
import { sameAnswer } from "../../data/math_answer/equal.ts";
import { isRightIn } from "./corpus.ts";

const LENGTH = 100_000;
/** What a model that repeats itself may write. */
const PIECES = [
  ..."x9 \n\\${}[]()|^_,;:=<>±%!°∪'\"*`~&/-+.",
  "\\frac{1}{",
  "\\sqrt{",
  "\\left(",
  "{{",
  "}{",
  "\\text{a} ",
  "\\text{ or } ",
  " and ",
  "1,",
  "1, ",
  "x=1, ",
  "1 + ",
  "2^",
  "2^{",
  "9!",
  "1/",
  "\\begin{pmatrix}1&2\\\\",
  "\\begin{",
  "(1,2),",
  "[0,1)\\cup",
  "x<1 or ",
  "\\pm ",
  "\\approx 1",
  "1e9",
  "0.\\overline{3}",
  "12,345,",
  "million ",
  "\\quad ",
  "\\\\",
  "5 cm ",
  "|x|",
  "answer is 5 or ",
  "\\boxed{1} and ",
  "**Final Answer:** $5$, ",
  "#### 5\n",
];

Deno.test("a hostile completion of 100 KB takes less than 50 ms", () => {
  const wraps: ((text: string) => string)[] = [
    (text) => `\\boxed{${text}}`,
    (text) => `<answer>${text}</answer>`,
    (text) => `The answer is ${text}`,
    (text) => `The answer is $${text}$`,
    (text) => `#### ${text}`,
    (text) => `The answer is $5$ ${text}`,
    (text) => `The answer is 5 ${text}`,
  ];
  for (const piece of PIECES) {
    for (const wrap of wraps) {
      const long = wrap(piece.repeat(LENGTH / piece.length));
      for (const gold of ["5", "(1,2)", "x^2+1"]) {
        const what = `${JSON.stringify(long.slice(0, 60))}… for ${gold}`;
        assertFast(50, () => void isRightIn.math500(long, gold), what);
        assertFast(50, () => void isRightIn.accuracy_reward(long, gold), what);
      }
    }
  }
});

Deno.test("a hostile answer of a few hundred signs takes less than 50 ms", () => {
  for (const piece of PIECES) {
    for (const length of [200, 1000, 2900]) {
      const text = piece.repeat(length / piece.length);
      for (const answer of [text, `${text}1`, `1${text}`, `(${text}1)`, `{${text}1}`]) {
        for (const gold of ["5", "\\frac{1}{2}", "(1,2)", "x^2+1", "y=2x", "x>2", `1${text}`]) {
          const what = `${JSON.stringify(answer.slice(0, 60))}… (${length}) for ${
            gold.slice(0, 20)
          }`;
          assertFast(50, () => void isRightIn.math500(`\\boxed{${answer}}`, gold), what);
        }
      }
    }
  }
});

/** Texts that make a careless pattern, parser or evaluation take very long when repeated. */
const FORMULAS = (
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

Deno.test("a comparison takes less than 50 ms, whatever the formulas are", () => {
  for (const piece of FORMULAS) {
    for (const length of [60, 300, 2900, 100_000]) {
      const text = piece.repeat(Math.ceil(length / piece.length));
      for (const answer of [`${text}1`, `1${text}`, text.slice(0, length)]) {
        const what = `${piece} repeated to ${length}`;
        assertFast(50, () => void sameAnswer(answer, `${answer} +0`), what);
        assertFast(50, () => void sameAnswer(answer, "\\frac{14}{3}"), what);
      }
    }
  }
  for (const text of LARGE) {
    for (const other of [`${text}+0`, `${text}+1`, `2\\cdot ${text}/2`, "\\sqrt{2}"]) {
      assertFast(50, () => void sameAnswer(text, other), `${text} ‖ ${other}`);
    }
  }
});
