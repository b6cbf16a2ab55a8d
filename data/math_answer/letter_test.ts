import assert from "node:assert/strict";
import { chosenLetter, findLetter } from "./letter.ts";

const chosen = (completion: string) => {
  const found = findLetter(completion);
  return found === null ? null : chosenLetter(found) ?? "none";
};

Deno.test("a letter is found with what may stand around it", () => {
  const cases: [string, string][] = [
    ["<answer>(D).</answer>", "D"],
    ["<answer>**D**</answer>", "D"],
    ["<answer>`D`</answer>", "D"],
    ["<answer>'D'</answer>", "D"],
    ["<answer>```\nD\n```</answer>", "D"],
    ["<answer>Ｄ</answer>", "D"],
    ["<answer>It's D</answer>", "D"],
    ["<answer>D 5 m/s</answer>", "D"],
    ["<answer>A: B and C only</answer>", "A"],
    ["<answer>A, because B is wrong</answer>", "A"],
    ["<answer>D. There is no X-ray</answer>", "D"],
    ["The correct answer is option D", "D"],
    ["The best choice is D.", "D"],
    ["So (D) is the correct answer.", "D"],
    ["ANSWER: D", "D"],
    ["answer: d", "D"],
    ["Final Answer\n\nD", "D"],
    ["The answer is: $\\text{D}$", "D"],
    ["The answer is C. A is wrong", "C"],
    ["Answer: Let us think. The answer is (C).", "C"],
    ["The answer is I.", "I"],
    ["\\boxed{\\textbf{(D)}}", "D"],
    ["\\boxed{D}. Hmm, \\boxed{E}", "E"],
  ];
  for (const [text, letter] of cases) assert.equal(chosen(text), letter, text);
});

Deno.test("words, formulas and two letters are no choice", () => {
  for (
    const answer of [
      "I am not sure",
      "I don't know",
      "A car accident",
      "All of the above",
      "Not D",
      "D is incorrect",
      "D-glucose",
      "C++",
      "A=5",
      "A > B",
      "A → B",
      "A to B",
      "A vs B",
      "A then B",
      "A but maybe B",
      "A. B. C.",
      "D ... no, E",
      "D or E",
      "D\nE",
      "\\boxed{D}, \\boxed{E}",
      "4",
    ]
  ) assert.equal(chosen(`<answer>${answer}</answer>`), "none", answer);
  assert.equal(chosen("The answer is I think C"), "none");
  assert.equal(chosen("The answer is a car."), null);
  assert.equal(chosen("D"), null);
});
