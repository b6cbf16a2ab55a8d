import { assertFast } from "../../core/time_limit_testing.ts";
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
