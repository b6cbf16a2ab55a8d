import assert from "node:assert/strict";
import { assertFast } from "../core/time_limit_testing.ts";
import { defineTask } from "../tasks/define.ts";
import { createDataset } from "../tasks/dataset.ts";
import { registerTask } from "../tasks/registry.ts";
import { scoreCompletion, scoreExtracted } from "./score_completion.ts";
import { workedAnswer } from "./worked_answer.ts";

registerTask(defineTask({
  name: "toy_scorer_that_throws",
  category: "other",
  description: "Always fails to score.",
  scoring: "none",
  params: {},
  generate: () => ({ question: "Q?", answer: null, metadata: {}, difficulty: {} }),
  score() {
    throw new Error("cannot read this");
  },
}));

Deno.test("a completion is scored by the task of its entry", () => {
  const entry = createDataset("chain_sum", { seed: 1 }).entry(0);
  const right = workedAnswer(entry);
  assert.deepEqual(scoreCompletion(`Well. ${right}`, entry), {
    extracted: entry.answer,
    formatted: true,
    score: 1,
    error: null,
  });
  assert.deepEqual(scoreCompletion("no tags", entry), {
    extracted: null,
    formatted: false,
    score: 0,
    error: null,
  });
  assert.deepEqual(scoreCompletion("<answer></answer>", entry), {
    extracted: "",
    formatted: true,
    score: 0,
    error: null,
  });
});

Deno.test("of GSM8K, the form is the one that the system prompt asks for", () => {
  const entry = { answer: "72", metadata: { source_dataset: "gsm8k" } };
  const whole = "<start_working_out>36 × 2<end_working_out>\n<SOLUTION>72</SOLUTION>";
  const cases: [text: string, plain: boolean, recipe: boolean][] = [
    [whole, true, true],
    ["<SOLUTION>72</SOLUTION>", false, false],
    ["So \\boxed{72}.", true, false],
    ["<answer>72</answer>", true, false],
  ];
  for (const [text, plain, recipe] of cases) {
    const formatted = (prompt: string | null) => scoreCompletion(text, entry, prompt).formatted;
    assert.deepEqual([null, "default", "gsm8k"].map(formatted), [plain, plain, recipe], text);
    assert.equal(scoreCompletion(text, entry, "gsm8k").score, 1, "right in any form");
  }
});

Deno.test("a scorer that throws counts 0 and says why", () => {
  const entry = createDataset("toy_scorer_that_throws", { seed: 1 }).entry(0);
  assert.deepEqual(scoreCompletion("<answer>x</answer>", entry), {
    extracted: "x",
    formatted: true,
    score: 0,
    error: "cannot read this",
  });
  assert.match(
    scoreExtracted("x", { metadata: { source_dataset: "no_such" } }).error!,
    /unknown task/,
  );
  assert.match(scoreExtracted("x", { answer: "x" }).error!, /source_dataset/);
});

Deno.test("entries of files are right when text or number is equal", () => {
  const entry = (answer: string | null) => ({ answer, metadata: { source_dataset: "file" } });
  assert.equal(scoreExtracted("1,000.0", entry("1000")).score, 1);
  assert.equal(scoreExtracted(" Paris ", entry("Paris")).score, 1);
  assert.equal(scoreExtracted("paris", entry("Paris")).score, 0);
  assert.equal(scoreExtracted("14", entry("4")).score, 0);
  assert.equal(scoreExtracted("4", entry(null)).score, 0);
  assert.equal(scoreExtracted(" ", entry(" ")).score, 0);
});

Deno.test("an entry without a single answer can not be imitated", () => {
  const entry = createDataset("toy_scorer_that_throws", { seed: 1 }).entry(0);
  assert.throws(() => workedAnswer(entry), /no single right answer/);
});

Deno.test("the longest and most repetitive completions are scored in little time", () => {
  const repeated = [
    "x",
    "####",
    "\n####",
    "answer is ",
    "answer is *",
    "answer is \\(",
    "\\boxed{",
    "\\boxed1",
  ];
  repeated.push("{", "answer is:", "<answer>", "<SOLUTION>", "$", "'", "Answer is (");
  for (const source of ["gsm8k", "math500", "mmlu_pro", "chain_sum"]) {
    const entry = { question: "?", answer: "5", metadata: { source_dataset: source } };
    assertFast(1500, () => {
      for (const text of repeated) scoreCompletion(text.repeat(120_000 / text.length), entry);
      scoreCompletion("answer is" + " ".repeat(100_000), entry);
    });
  }
});

Deno.test("a unit that the gold answer lacks counts only where the question asks for it", () => {
  const entry = (question: string, answer: string) => ({
    question,
    answer,
    metadata: { source_dataset: "math500" },
  });
  const cases: [question: string, gold: string, answer: string, score: number][] = [
    ["What percent of the circle is shaded?", "40", "40\\%", 1],
    ["How likely is it?", "40", "40\\%", 0],
    ["How likely is it?", "0.15", "0.15\\%", 0],
    ["How many degrees are in angle A?", "40", "40^\\circ", 1],
    ["How many marbles are left?", "40", "40^\\circ", 0],
    ["How many marbles are left?", "40\\%", "40", 1],
  ];
  for (const [question, gold, answer, score] of cases) {
    const scored = scoreCompletion(`\\boxed{${answer}}`, entry(question, gold));
    assert.equal(scored.score, score, `${question} ${gold} ‖ ${answer}`);
  }
});

Deno.test("a box around an answer of a file's problem, or around its gold answer, does not count", () => {
  const entry = (answer: string) => ({ answer, metadata: { source_dataset: "file" } });
  const cases: [answer: string, gold: string, score: number][] = [
    ["5", "\\boxed{5}", 1],
    ["\\boxed{5}", "5", 1],
    ["5", "2 + 3 = 5\n#### 5", 1],
    ["6", "2 + 3 = 5\n#### 5", 0],
    ["So it is $\\boxed{Paris}$.", "Paris", 1],
    ["6", "\\boxed{5}", 0],
  ];
  for (const [answer, gold, score] of cases) {
    assert.equal(scoreExtracted(answer, entry(gold)).score, score, `${answer} for ${gold}`);
  }
});

Deno.test("where a file's problem asks for no tags, the answer that a completion states counts", () => {
  const entry = (answer: string, question = "Capital of France?") => ({
    question,
    answer,
    metadata: { source_dataset: "file" },
  });
  const cases: [completion: string, gold: string, extracted: string | null][] = [
    ["The capital of France is Paris.", "Paris", "Paris"],
    ["Paris", "Paris", "Paris"],
    ["It is large.\n\nThe answer is Paris.", "Paris", "Paris"],
    ["So \\boxed{Paris}, not Lyon.", "Paris", "Paris"],
    ["<answer>Paris</answer> is the capital.", "Paris", "Paris"],
    ["2 + 3 = 5", "5", "5"],
    ["The capital of France is not Paris.", "Paris", "not Paris"],
    ["Paris is nice.\nI like Lyon", "Paris", null],
  ];
  for (const [completion, gold, extracted] of cases) {
    const scored = scoreCompletion(completion, entry(gold));
    assert.equal(scored.extracted, extracted, completion);
    assert.equal(scored.score, extracted === gold ? 1 : 0, completion);
  }
  const stated = "The capital of France is Paris.";
  const asking = "Write it in <answer> tags.";
  assert.equal(scoreCompletion(stated, entry("Paris", asking)).extracted, null);
  assert.equal(scoreCompletion(stated, entry("Paris"), "simple").extracted, null);
  assert.equal(scoreCompletion(stated, entry("Paris"), null, asking).extracted, null);
});
