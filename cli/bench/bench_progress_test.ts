/** The progress that a benchmark shows. */
import assert from "node:assert/strict";
import { BenchProgress } from "./bench.ts";
import { shown } from "../terminal/terminal_testing.ts";

/** Two models that load for a minute each, with one answer in between. */
function twoModels(live: boolean, quiet = false): string[] {
  return shown(live, (setTime) => {
    const progress = new BenchProgress(quiet);
    const loading = (ms: number, model: string, share: number) => {
      setTime(ms);
      progress.on({ type: "loading", worker: 0, model, share });
    };
    loading(0, "a", 0);
    loading(31_000, "a", 0.507);
    loading(31_100, "a", 0.6);
    loading(31_150, "a", 1);
    setTime(62_000);
    progress.on({ type: "progress", worker: 0, model: "a", done: 1, total: 4 });
    loading(93_000, "b", 0.5);
    progress.close();
  });
}

Deno.test("a model that loads shows how far it is, the next one like the first", () => {
  assert.deepEqual(twoModels(false), [
    "loading a: 50 %\n",
    "1/4, 3 min 6 s left (a)\n",
    "loading b: 50 %\n",
  ]);
  const lines = twoModels(true).join("").split("\r\x1b[K");
  assert.deepEqual(lines.map((line) => line.replace(/^[▁█]+ /, "")), [
    "",
    "loading a: 50 %",
    "asking a",
    "1/4, 3 min 6 s left (a)",
    "loading b: 50 %",
    "",
  ]);
});

Deno.test("a warning is wrapped on a terminal, and one line elsewhere", () => {
  const text = "runs/mine was trained on spell_backward with max_word_len=4, ".repeat(3).trim();
  const warned = (live: boolean) => shown(live, () => new BenchProgress(true).warn(text));
  assert.deepEqual(warned(false), [`warning: ${text}\n`]);
  // deno-lint-ignore no-control-regex
  const lines = warned(true).map((line) => line.replaceAll(/\x1b\[\d+m/g, ""));
  assert.ok(lines.length > 1 && lines.every((line) => line.length <= 81), lines.join(""));
});

Deno.test("a quiet benchmark shows nothing", () => {
  for (const live of [false, true]) assert.deepEqual(twoModels(live, true), []);
});

Deno.test("with --verbose every answer is shown when it is there", () => {
  const lines = (verbose: boolean) =>
    shown(false, () => {
      new BenchProgress(false, verbose).on({
        type: "sample",
        model: "runs/a",
        task: "chain_sum",
        entry: { question: "2 + 3", answer: "5", metadata: {} },
        result: {
          completion: "It is <answer>5</answer>",
          extracted: "5",
          score: 1,
          truncated: false,
          completion_tokens: 4,
        },
      });
    });
  assert.deepEqual(lines(false), []);
  assert.equal(
    lines(true).join(""),
    "[chain_sum, a]\n[Prompt]\n2 + 3\n[Response]\nIt is <answer>5</answer>\n" +
      '[Expected] "5"  [Answer] "5"  [Score] 1\n',
  );
});
