import assert from "node:assert/strict";
import { assertFast } from "../../core/time_limit_testing.ts";
import { findMathAnswer, findMathAnswerNear, joinedBoxes, readings } from "./find.ts";
import { isRight } from "./right.ts";
import { statedFormula, statedText } from "./stated.ts";

const stated = (text: string) => statedFormula(text) ?? statedText(text);

Deno.test("the whole of what is stated is the answer, not its first number", () => {
  const cases: [string, string | null][] = [
    ["The answer is 5\\sqrt{2}.", "5\\sqrt{2}"],
    ["The answer is 2^{10}", "2^{10}"],
    ["the answer is 4 4/9", "4 4/9"],
    ["Answer: 3x+1", "3x+1"],
    ["The answer is 2 million.", "2 million"],
    ["The answer is 3.5. Nice.", "3.5"],
    ["The answer is $5$ million.", "5 million"],
    ["The answer is $5$\\sqrt{2}.", "5\\sqrt{2}"],
    ["The answer is $5$ \\%.", "5 \\%"],
    ["The answer is $18. He had $20 left.", "$18"],
    ["The answer is \\$18.90.", "\\$18.90"],
    ["The answer is 5 or 6.", "5 or 6"],
    ["The answer is $5$ or $6$.", "5 or 6"],
    ["The answer is $5$, 6.", "5, 6"],
    ["The answer is 5, but maybe 6.", "5, but maybe 6"],
    ["The answer is $x=1$, $x=2$ and $x=3$.", "x=1, x=2 and x=3"],
    ["The answer is 5 and not 6.", "5 and not 6"],
    ["The answer is $5$, no wait, $6$.", "5 or 6"],
    ["The answer is 5? No, 6.", "5? No, 6"],
    ["The answer is 5 (million).", "5 (million)"],
    ["The answer is Evelyn, north of it.", null],
    ["Answer: = 420/4", "= 420/4"],
    ["", null],
    ["72", null],
    ["It is $72$.", null],
    ["The answer isn't 5", null],
    ["$5$ or $6$ is the answer.", null],
  ];
  for (const [text, answer] of cases) assert.equal(stated(text), answer, text);
});

Deno.test("an answer is announced by a sentence, a label or a heading", () => {
  for (
    const text of [
      "**Final Answer:** $7$",
      "**Final Answer**: \\(7\\)",
      "**Final Answer**\n\n$$7$$",
      "### Final Answer\n\n7",
      "## Answer\n7",
      "Answer: $7$",
      "Answer = 7",
      "Answer $7$",
      "\\textbf{Answer:} 7",
      "__Answer:__ 7",
      '{"answer": "7"}',
      "The answer is 7<|im_end|>",
      "The answer is 7 ✓",
      "Answer: 7 (exactly)",
      "So $7$ is the final answer.",
      "**7** is the answer.",
      "ANSWER: 7",
      "The answer is **7**.",
      "The correct answer is therefore 7, because 3 + 4 = 7.",
      "The answer to the question is 7 (since 3 + 4 = 7).",
      "My answer would be 7",
      "The answer comes out to 7.",
      "The answer (in metres) is 7",
      "The final answer is 7. The answer 8 is wrong.",
      "Answer: 7. I hope this answer is helpful.",
      "The answer is 6. No, the answer is 7!",
    ]
  ) {
    assert.equal(stated(text)?.replace("!", ""), "7", text);
  }
  assert.equal(stated("The answer is Evelyn."), "Evelyn");
  assert.equal(stated("The answer is a little difficult to find without more data."), null);
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
        stated(hostile);
        readings(hostile);
      }, JSON.stringify(piece));
    }
  }
});
