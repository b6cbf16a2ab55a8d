/** Cases in which the original is wrong (docs/deviations.md), with its result and ours. */
import assert from "node:assert/strict";
import { createDataset } from "../../dataset.ts";
import { scoreAnswer, scoreTaskAnswer } from "../../registry.ts";

Deno.test("V18: words are no formula of propositional_logic", () => {
  const entry = { metadata: { premises: ["R", "Q"], variables: ["P", "Q", "R"] } };
  const original: [string, number][] = [["this is a wrong answer", 0.05], ["p or q", 0.05], [
    "0",
    0.05,
  ]];
  for (const [answer, score] of original) {
    assert.notEqual(scoreTaskAnswer("propositional_logic", answer, entry), score);
    assert.equal(scoreTaskAnswer("propositional_logic", answer, entry), 0);
  }
});

Deno.test("G6: a syllogism needs a middle term that is distributed once", () => {
  const original = {
    premises: ["All children are animals", "Some animals are not doctors"],
    conclusion: "Some children are not doctors",
    answer: "Yes",
  };
  let met = 0;
  const config = { seed: 1, size: 3000, inversion_probability: 0, invalid_ratio: 0.5 };
  for (const { answer, metadata } of createDataset("syllogism", config)) {
    const form = [metadata["premise1"], metadata["premise2"], metadata["conclusion"]]
      .map((text) => (text as string).replaceAll(/\b[a-z]+s\b|children/g, "*")).join("; ");
    if (form !== "All * are *; Some * are not *; Some * are not *") continue;
    met++;
    assert.notEqual(answer, original.answer);
  }
  assert.ok(met > 0);
});

Deno.test("G8: both circles of colleagues are counted", () => {
  const config = { seed: 1, size: 300, task_types: ["colleagues"], task_type_weights: [1] };
  let original = 0;
  for (const { question, answer } of createDataset("aiw", config)) {
    const females = [...question.matchAll(/(\d+) female/g)].map((match) => Number(match[1]));
    assert.equal(females.length, 2);
    assert.equal(Number(answer), females[0]! + females[1]! - 1);
    // The original adds 1 to the first circle's count and ignores the second circle.
    if (females[0]! + 1 === Number(answer)) original++;
  }
  assert.ok(original < 100, `${original} of 300 answers do not depend on the second circle`);
});

Deno.test("G17: an example conclusion is always worth 1", () => {
  const original = { wrong: 4, of: 400 };
  let wrong = 0;
  for (const entry of createDataset("propositional_logic", { seed: 1, size: original.of })) {
    if (scoreAnswer(entry.metadata["example_answer"] as string, entry) !== 1) wrong++;
  }
  assert.equal(wrong, 0);
  assert.notEqual(wrong, original.wrong);
});

Deno.test("G22: gates with one input are never NAND, and the legend has every gate once", () => {
  const original = "&&: AND\n↑↑: NAND\n⊕⊕: XOR\n>o: Negate\n⊕⊕: XOR";
  assert.equal(original.match(/XOR/g)!.length, 2);
  const config = { seed: 1, size: 300, min_inputs: 1, max_inputs: 1 };
  for (const { question, metadata } of createDataset("circuit_logic", config)) {
    const legend = [...question.matchAll(/ is (AND|NAND|XOR|OR|NOR): /g)].map((match) => match[1]);
    assert.equal(new Set(legend).size, legend.length);
    assert.ok(legend.includes(metadata["final_gate"] as string));
    assert.ok(!legend.includes("NAND"));
  }
});

Deno.test("G25: syllogism has a difficulty, which is empty", () => {
  assert.deepEqual(createDataset("syllogism", { seed: 1 }).entry(0).metadata["difficulty"], {});
});

Deno.test("G31: any house is asked for", () => {
  const original = new Set(["1"]);
  const asked = new Set<string>();
  for (const { question } of createDataset("zebra_puzzles", { seed: 1, size: 60 })) {
    asked.add(/in house (\d)\?/.exec(question)![1]!);
  }
  assert.deepEqual([...asked].sort(), ["1", "2", "3", "4"]);
  assert.notDeepEqual(asked, original);
});
