import assert from "node:assert/strict";
import { beginning, textWidth } from "./terminal.ts";
import { clip, table, wrap } from "./terminal.ts";

Deno.test("a character takes one column, two, or none", () => {
  const widths: [string, number][] = [
    ["", 0],
    ["plain ~", 7],
    ["naïve", 5],
    ["nai\u0308ve", 5],
    ["模型", 4],
    ["モデル", 6],
    ["모델", 4],
    ["ＡＢ", 4],
    ["a🙂b", 4],
    ["𠀀", 2],
    ["… ▁█ ± ×", 8],
    ["a\u200bb", 2],
  ];
  for (const [text, width] of widths) assert.equal(textWidth(text), width, text);
});

Deno.test("a text that is too wide is cut, never within a character", () => {
  assert.equal(beginning("模型 a", 3), "模");
  assert.equal(beginning("模型 a", 4), "模型");
  assert.equal(beginning("🙂🙂", 3), "🙂");
  assert.equal(beginning("abc", -1), "");
  assert.equal(beginning("e\u0301x", 1), "e\u0301");
  assert.equal(clip("模型模型", 8), "模型模型");
  assert.equal(clip("模型模型", 7), "模型模…");
  assert.equal(clip("plain text", 6), "plain…");
});

Deno.test("tables and lines are aligned by what a terminal shows", () => {
  assert.equal(
    table([["model", "score"], ["模型", "0.5"], ["llama", "12.0"]]),
    "model  score\n模型     0.5\nllama   12.0",
  );
  assert.deepEqual(wrap("模型 模型 ab", 8), ["模型", "模型 ab"]);
  assert.deepEqual(wrap("r 16, 14 K trained, 5.1 %", 8), ["r 16,", "14 K", "trained,", "5.1 %"]);
});
