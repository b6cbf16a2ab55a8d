/** Lines of `rgx score`, as other programs write them. */
import assert from "node:assert/strict";
import { scoreLines } from "./score_lines.ts";

Deno.test("an answer that is not text is an error of its line, not a wrong answer", () => {
  const metadata = { source_dataset: "chain_sum" }, entry = { question: "1 + 1", metadata };
  const lines = [
    { entry: { ...entry, answer: "2" }, answer: 2 },
    { entry: { ...entry, answer: 2 }, answer: "2" },
    { entry: { ...entry, answer: "2" } },
    { entry: { ...entry, answer: "2" }, answer: null },
    { entry: { ...entry, answer: "2" }, answer: "2" },
  ];
  const { text, scored, failed } = scoreLines(
    lines.map((l) => JSON.stringify(l)).join("\n"),
    false,
  );
  assert.deepEqual([scored, failed], [2, 3]);
  assert.deepEqual(text.trimEnd().split("\n").map((line) => JSON.parse(line)), [
    { score: 0, error: "answer: expected a string or null, found 2" },
    { score: 0, error: "entry.answer: expected a string or null, found 2" },
    { score: 0, error: "answer: expected a string or null" },
    { score: 0 },
    { score: 1 },
  ]);
});
