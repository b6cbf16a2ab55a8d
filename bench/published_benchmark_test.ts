/** Data-set benchmarks: published files, answers compared as mathematics or letters. */
import assert from "node:assert/strict";
import { test } from "../core/testing.ts";
import { goldenPath } from "../tests/golden.ts";
import { readDataset } from "../data/dataset_entries.ts";
import { scoreCompletion, scoreExtracted } from "../data/score_completion.ts";
import { fewCategories, fewerThanAsked, planTasks, withoutAnswers } from "./plan/task_plan.ts";
import { createTestSet } from "./plan/test_set.ts";

Deno.test("GSM8K: every right answer is right in several forms, and a wrong one is wrong", () => {
  const folder = goldenPath("data/gsm8k");
  const entries = readDataset("gsm8k", `${folder}/test.jsonl`);
  assert.equal(entries.length, 1319);
  assert.equal(entries[0]!.answer, "18");
  assert.ok(entries.every(({ answer }) => /^-?[\d,.]+$/.test(answer!)));
  for (const entry of entries) {
    assert.equal(scoreCompletion(String(entry.metadata["completion"]), entry).score, 1);
  }
  for (const entry of new Map(entries.map((one) => [one.answer, one])).values()) {
    const gold = entry.answer!, plain = gold.replaceAll(",", "");
    const forms = `<answer>${gold}</answer>;<answer>$${plain}.00</answer>;so \\boxed{${plain}};` +
      `The final answer is $${plain}$.;work\n#### ${gold};The answer is ${gold}.;` +
      `<answer>${plain} more apples</answer>;<SOLUTION>${plain}</SOLUTION>;` +
      `<answer>${plain} dollars</answer>;<answer>The answer is ${gold}.</answer>;` +
      `<answer>#### ${gold}</answer>;**Answer:** ${gold}`;
    for (const text of forms.split(";")) {
      if (plain.includes(".") && text.includes(".00")) continue;
      assert.equal(scoreCompletion(text, entry).score, 1, `${text} for ${gold}`);
    }
    assert.equal(scoreCompletion(`<answer>${Number(plain) + 1}</answer>`, entry).score, 0);
    assert.equal(scoreCompletion(gold, entry).extracted, null);
  }
});

Deno.test("MATH-500: the published solutions are right, and so are other spellings", () => {
  const folder = goldenPath("data/math500");
  const entries = readDataset("math500", `${folder}/test.jsonl`);
  assert.equal(entries.length, 500);
  const wrong = entries.filter((entry) =>
    scoreCompletion(`\\boxed{${entry.answer}}`, entry).score !== 1
  );
  assert.deepEqual(wrong.map(({ answer }) => answer), []);
  const half = entries.find(({ answer }) => answer === "\\frac{1}{2}") ??
    { ...entries[0]!, answer: "\\frac{1}{2}" };
  for (const text of ["\\boxed{0.5}", "<answer>1/2</answer>", "<answer>\\dfrac12</answer>"]) {
    assert.equal(scoreCompletion(text, half).score, 1, text);
  }
});

Deno.test("MATH-500: no answer is right for another problem unless it means the same", () => {
  const folder = goldenPath("data/math500");
  const entries = readDataset("math500", `${folder}/test.jsonl`);
  const byAnswer = [...new Map(entries.map((entry) => [entry.answer!, entry])).values()];
  const digitsOf = (answer: string) => [...answer.replaceAll(/\D/g, "")].sort().join("");
  const isNear = (one: string, other: string) =>
    digitsOf(one) === digitsOf(other) || /\d+/.exec(one)?.[0] === /\d+/.exec(other)?.[0];
  // All pairs with common digits, and some of the others: all would take ten seconds.
  const same = byAnswer.flatMap((entry, i) =>
    byAnswer.slice(0, i).filter(({ answer }, j) =>
      ((i + j) % 16 === 0 || isNear(answer!, entry.answer!)) &&
      scoreExtracted(answer, entry).score === 1
    ).map(({ answer }) => [entry.answer!, answer!].sort().join(" = "))
  );
  assert.deepEqual(same.sort(), [
    "(-2,1) = -2,1",
    "-2,1 = 1,-2",
    "10,\\!080 = 10080",
    // Degrees may be left out; where the question asks for them, they may be added.
    "120 = 120^\\circ",
    "15 = 15\\mbox{ cm}^2",
    "2 \\sqrt{5} = 2\\sqrt{5}",
    "30 = 30^\\circ",
    "36 = 36^\\circ",
    "36 = \\$36",
    "5 = x=5",
    "\\frac14 = \\frac{1}{4}",
  ]);
});

test.inFolder("MMLU-Pro: options have letters; worked examples are not asked", async (folder) => {
  const rows = Array.from({ length: 6 }, (_, i) => ({
    question: `Which is ${i}?`,
    options: ["zero", "one", "two", "three"],
    answer: "BCDABC"[i],
    category: "math",
  }));
  const path = `${folder}/mmlu.jsonl`;
  await Deno.writeTextFile(path, rows.map((row) => JSON.stringify(row)).join("\n"));
  const set = createTestSet({ name: "mmlu_pro", path }, { seed: 1, size: 10, fewShot: 2 });
  assert.deepEqual([set.entries.length, set.shots.length], [4, 2]);
  const [entry] = set.entries;
  assert.match(entry!.question, /Which is 0\?\n\nA\. zero\nB\. one/);
  for (const text of RIGHT) assert.equal(scoreCompletion(text, entry!).score, 1, text);
  for (const text of WRONG) assert.equal(scoreCompletion(text, entry!).score, 0, text);
});

/** Completions that choose option B. */
const RIGHT = String.raw`<answer>B</answer> | <answer>(b) one</answer> | <answer>Option B</answer> |
\boxed{\text{B}} | The answer is (B). | Answer is **B** | <answer>[B]</answer> | <answer>"B"</answer> |
<answer>The answer is (B).</answer> | <answer>B, a number</answer> | **Answer:** B |
Final Answer: (B) | <answer>B A number</answer> | <answer>B is right</answer>`.split(/ \|\s/)
  .concat("The answer is B\n\nC is wrong because it is not even.");
/** Completions that do not, or that choose several. */
const WRONG = String.raw`<answer>C</answer> | <answer>Because</answer> | B | The answer is bad |
<answer>B or C</answer> | <answer>(B), (D)</answer> | The answer is B or C. | The answer is (C) or (B). |
Answer: B, C | \boxed{C} or \boxed{B} | <answer>The answer is B or C</answer> | <answer>B; C</answer> |
<answer>B C</answer> | <answer>B+C</answer> | <answer>B++</answer> | <answer>B, or C</answer> |
The answer is B, or maybe C. | <answer>B is incorrect</answer> |
<answer>(B) isn't right</answer>`.split(/ \|\s/).concat("<answer>B\nC</answer>");

test.inFolder("MMLU-Pro: the right option is a letter or an index; else it is refused", async (folder) => {
  const path = `${folder}/mmlu.json`;
  const goldOf = async (answer: unknown, answer_index?: number) => {
    const row = { question: "Which?", options: ["zero", "one"], answer, answer_index };
    await Deno.writeTextFile(path, JSON.stringify([row], null, 2));
    return readDataset("mmlu_pro", path)[0]!.answer;
  };
  assert.equal(await goldOf(" (b) "), "B");
  assert.equal(await goldOf(1, 1), "B");
  assert.equal(await goldOf("zero", 0), "A");
  for (const answer of [1, "zero", "C", "I"]) {
    await assert.rejects(
      goldOf(answer),
      /mmlu\.json: row 1: answer: expected the letter of one of its 2 options, found/,
    );
  }
});

test.inFolder("problems without an answer give a warning; without any answer an error", async (folder) => {
  const path = `${folder}/x.jsonl`, tasks = [{ name: "file", path, label: "mine" }];
  const notesFor = async (...answers: unknown[]) => {
    const rows = answers.map((answer, i) => JSON.stringify({ question: `${i}?`, answer }));
    await Deno.writeTextFile(path, rows.join("\n"));
    return withoutAnswers(await planTasks({ tasks }, 1));
  };
  assert.deepEqual(await notesFor("1", 2), []);
  assert.deepEqual(await notesFor("1", null), [
    "mine: 1 of 2 problems have no answer to compare with",
  ]);
  await assert.rejects(notesFor(null, null), /x\.jsonl: none of its problems has an answer/);
});

test.inFolder("a warning says when a task has fewer questions than the user asked for", async (folder) => {
  const path = `${folder}/x.jsonl`, row = (i: number) => `{"question":"${i % 3}?","answer":"1"}`;
  await Deno.writeTextFile(path, Array.from({ length: 6 }, (_, i) => row(i)).join("\n"));
  const tasks = [{ name: "file", label: "mine", path }, "chain_sum"];
  const notesFor = async (options: { numExamples?: number; limit?: number }) =>
    fewerThanAsked({ tasks, ...options }, await planTasks({ tasks, ...options }, 1));
  assert.deepEqual(await notesFor({ numExamples: 5 }), [
    "mine has 3 different questions, 5 were asked for",
  ]);
  assert.deepEqual(await notesFor({ numExamples: 5, limit: 3 }), []);
  assert.deepEqual(await notesFor({}), []);
});

test.inFolder("a warning says when the first problems leave out most categories", async (folder) => {
  const path = `${folder}/mmlu.jsonl`, names = ["business", "law", "math", "physics"];
  const rows = Array.from({ length: 12 }, (_, i) => {
    const category = names[Math.floor(i / 3)];
    return JSON.stringify({ question: `${i}?`, options: ["a", "b"], answer: "A", category });
  });
  await Deno.writeTextFile(path, rows.join("\n"));
  const notesFor = async (numExamples: number) =>
    fewCategories(await planTasks({ tasks: [{ name: "mmlu_pro", path }], numExamples }, 1));
  const note = "mmlu_pro: its first 5 problems are of 2 of 4 categories (business, law)";
  assert.deepEqual([await notesFor(5), await notesFor(9)], [[note], []]);
});

test.inFolder("a benchmark measures the test split of a file with several splits", async (folder) => {
  const path = `${folder}/x.jsonl`;
  const rows = ["train", "test", "train", "test"].map((split, i) =>
    JSON.stringify({ split, question: `${i} + 1`, answer: `${i + 1}` })
  );
  await Deno.writeTextFile(path, rows.join("\n"));
  const [set] = await planTasks({ tasks: [{ name: "file", path }] }, 1);
  assert.deepEqual(set!.entries.map(({ question }) => question), ["1 + 1", "3 + 1"]);
});

test.inFolder("a file of another format is refused with its line and columns", async (folder) => {
  const path = `${folder}/x.jsonl`;
  await Deno.writeTextFile(path, '{"question":"Q","answer":"#### 1"}\n{"prompt":"Q"}\n');
  assert.throws(
    () => readDataset("gsm8k", path),
    /x\.jsonl:2: no column "question".*found prompt/,
  );
  assert.throws(() => readDataset("gsm8", path), /unknown data set "gsm8", did you mean gsm8k\?/);
  await Deno.writeTextFile(path, '{"question":"Q","answer":"1"}\n');
  assert.throws(() => readDataset("gsm8k", path), /x\.jsonl:1: answer has no "####"/);
  await Deno.writeTextFile(path, "{");
  assert.throws(() => readDataset("math500", path), /x\.jsonl:1: not valid JSON/);
  assert.throws(() => readDataset("math500", `${folder}/none`), /there is no such file/);
});

test.inFolder("a published file is known by its columns; a missing one is an error", async (folder) => {
  const row = { question: "2 + 3?", answer: "2 + 3 = <<2+3=5>>5\n#### 5" };
  const files = {
    "gsm8k": row,
    "math500": { problem: "1+1", solution: "\\boxed{2}", answer: "2" },
    "mmlu_pro": { question: "Which?", options: ["a", "b"], answer: "A" },
    "file": { question: "2 + 3?", answer: "5" },
  };
  for (const [format, line] of Object.entries(files)) {
    const path = `${folder}/${format}_of_mine.jsonl`;
    await Deno.writeTextFile(path, JSON.stringify(line) + "\n");
    const tasks = [{ name: "file", path, label: "mine" }];
    const [set] = await planTasks({ tasks, numExamples: 5 }, 1);
    assert.deepEqual([set!.taskName, set!.label, set!.entries.length], [format, "mine", 1]);
    if (format === "gsm8k") assert.equal(set!.entries[0]!.answer, "5");
  }
  await assert.rejects(
    planTasks({ tasks: ["mmlu_pro"] }, 1),
    /the data set mmlu_pro is not here: .*TIGER-Lab/,
  );
});
