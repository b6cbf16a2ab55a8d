import assert from "node:assert/strict";
import { assertFast } from "../../core/time_limit_testing.ts";
import { findMathAnswer, findMathAnswerNear, joinedBoxes, readings } from "./find.ts";
import { isRight } from "./right.ts";
import { statedFormula, statedText } from "./stated.ts";

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

Deno.test("boxes that stand together are a list, or the last of them counts", () => {
  const list = "$x_1 = \\boxed{1}$, $x_2 = \\boxed{-2}$";
  assert.equal(joinedBoxes(`So ${list}.`), "\\boxed{1}$, $x_2 = \\boxed{-2}");
  assert.deepEqual(readings(joinedBoxes(list)!), ["-2", "1, -2"]);
  assert.deepEqual(readings("\\boxed{1} \\text{ or } \\boxed{-2}"), ["1 or -2"]);
  assert.deepEqual(readings("\\boxed{5}"), ["\\boxed{5}"]);
  for (const between of ["\\quad\\text{and}\\quad", "$ papers and $", " \\text{ for (a) and } "]) {
    assert.equal(isRight(`\\boxed{1}${between}\\boxed{2}`, "1,2"), true, between);
  }
  assert.equal(joinedBoxes("\\boxed{1} is wrong, it is \\boxed{2}"), null);
  assert.equal(joinedBoxes("\\boxed{1}. And \\boxed{2}"), null);
  assert.equal(isRight("\\boxed{1} and \\boxed{-2}", "1,-2"), true);
  assert.equal(isRight("\\boxed{1} and \\boxed{-2}", "\\{-2, 1\\}"), true);
  assert.equal(isRight("\\boxed{1}, \\boxed{-2}, and \\boxed{4}", "1,-2"), false);
  assert.equal(isRight("\\boxed{1} and \\boxed{-2}", "-2"), true, "the last box counts");
  assert.equal(isRight("\\boxed{1} and \\boxed{-2}", "1"), false);
  assert.equal(isRight("\\boxed{1} or \\boxed{-2}", "-2"), false, "a choice between two");
});

Deno.test("an answer from data that was escaped twice is read", () => {
  const doubled = String.raw`\\left( 3, \\frac{\\pi}{2} \\right)`;
  assert.equal(isRight(doubled, "(3, \\frac{\\pi}{2})"), true);
  const matrix = "\\begin{pmatrix}1\\\\\\frac12\\end{pmatrix}";
  assert.equal(isRight(matrix, "\\begin{bmatrix}1\\\\0.5\\end{bmatrix}"), true);
});

Deno.test("finding an answer takes little time in hostile texts of 100 KB", () => {
  const pieces = ["answer", "answer is ", "Answer: ", "final answer is: $", "answer is $5$ or "];
  pieces.push("answer (", "answer to ", "answer\n", "# answer\n", "**answer** ", "answer is a ");
  pieces.push(
    "\\boxed{1} and ",
    "\\boxed1,",
    "\\boxed{",
    "$5$, ",
    "answer is $5$, ",
    "answer: \\(",
  );
  pieces.push(" ", "\n", "$", "*", "_", ", ", "{", "}", "answer is 5. ", "\\[", "answer is \\$ ");
  for (const piece of pieces) {
    for (
      const text of [piece.repeat(100_000 / piece.length), `answer is ${piece.repeat(99_000)}`]
    ) {
      const hostile = text.slice(0, 100_000);
      assertFast(50, () => {
        joinedBoxes(hostile);
        findMathAnswer(hostile);
        findMathAnswerNear(hostile);
        void (statedFormula(hostile) ?? statedText(hostile));
        readings(hostile);
      }, JSON.stringify(piece));
    }
  }
});
