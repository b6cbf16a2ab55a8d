import assert from "node:assert/strict";
import { sameAnswer } from "../../data/math_answer/equal.ts";
import { readGoldenJson } from "../golden.ts";
import { isRightIn, readCorpus, readStatements } from "./corpus.ts";

const line = (answer: string, gold: string, right: boolean, why: string) =>
  `${answer}  for  ${gold}  should be ${right ? "right" : "wrong"}: ${why}`;

Deno.test("the judged answers are right or wrong in the rewards and in the data sets' scores", () => {
  const corpus = readCorpus();
  assert.ok(corpus.length >= 3000, `${corpus.length} pairs`);
  const wrong = new Set<string>();
  for (const { gold, answer, right, why } of corpus) {
    const values = [
      isRightIn.accuracy_reward(`So it is \\boxed{${answer}}.`, gold),
      isRightIn.math500(`<answer>${answer}</answer>`, gold),
      isRightIn.math500(`So it is \\boxed{${answer}}.`, gold),
      isRightIn.gsm8k(`<answer>${answer}</answer>`, gold),
    ];
    if (values.some((value) => value !== null && value !== right)) {
      wrong.add(line(answer, gold, right, why));
    }
  }
  assert.deepEqual([...wrong], []);
});

Deno.test("the judged completions are right or wrong", () => {
  const wrong: string[] = [];
  for (const { completion, gold, right, why, scorers } of readStatements()) {
    const values = scorers.map((scorer) => isRightIn[scorer](completion, gold));
    if (values.some((value) => value !== right)) wrong.push(line(completion, gold, right, why));
  }
  assert.deepEqual(wrong, []);
});

Deno.test("texts of one meaning are equal, and of different meanings not", () => {
  const lists = readGoldenJson<Record<string, string[][]>>("answers/meanings.json");
  const wrong: string[] = [];
  for (const meanings of Object.values(lists)) {
    for (const [i, some] of meanings.entries()) {
      for (const [k, others] of meanings.entries()) {
        // Lines that begin with the same text have the same meaning.
        const right = some[0] === others[0];
        for (const [m, answer] of some.entries()) {
          for (const [n, gold] of others.entries()) {
            // All pairs that are equal, and one in eight of the others.
            if (answer === gold || (!right && (i + k + m + n) % 8 > 0)) continue;
            if (sameAnswer(answer, gold) !== right) {
              wrong.push(line(answer, gold, right, "meaning"));
            }
          }
        }
      }
    }
  }
  assert.deepEqual(wrong, []);
});
