import assert from "node:assert/strict";
import { dictLine, evalLines, sampleLines, timeLine } from "./train_text.ts";

Deno.test("a metric without a value is a dash, also where all rewards of a step are null", () => {
  const metrics = { loss: 0.00123456, reward: null, grad_norm: NaN, epoch: 2 };
  assert.equal(
    dictLine(metrics, ["reward", "loss", "grad_norm"]),
    "{'reward': –, 'loss': 0.001235, 'grad_norm': nan}",
  );
  assert.equal(dictLine({ epoch: 2 }, null), "{'epoch': 2}");
});

Deno.test("the time of a run names its parts, and none where all are too short", () => {
  const none = { problems: 0, generate: 0, score: 0, optimizer: 0, eval: 0, checkpoint: 0 };
  const phases = { ...none, generate: 0.2, forward_backward: 1.04, optimizer: 0.01 };
  assert.equal(
    timeLine({ seconds: 1.5, seconds_by_phase: phases }),
    "Time 2 s (seconds: generate 0.2, forward+backward 1.0, other 0.3).",
  );
  const short = { ...none, forward_backward: 0.03 };
  assert.equal(timeLine({ seconds: 0.06, seconds_by_phase: short }), "Time 0 s.");
});

Deno.test("colours and control characters of a model's text do not steer the terminal", () => {
  const evil = "\x1b[31mred\x1b[0m\x1b[2J", shown = "\\x1b[31mred\\x1b[0m\\x1b[2J";
  const completions = [{ text: evil, rewards: [1], advantage: 0.5 }];
  const sample = {
    question: evil,
    answer: evil,
    prompt: evil,
    completions,
    rewardNames: ["accuracy"],
  };
  assert.deepEqual(sampleLines(sample, 3, 200), [
    `  prompt: ${shown}  expected: ${shown}`,
    `  1.00  +0.50  ${shown}`,
  ]);
  const none = { mean: 0, ci95: [0, 0] as [number, number] };
  const result = { total: 0, greedy: none, rewards: {} };
  const items = [{ question: evil, expected: evil, completion: evil, extracted: evil }];
  const event = { result, items } as unknown as Parameters<typeof evalLines>[0];
  const data = { dataset_name: "rows.jsonl", task_name: null };
  assert.ok(evalLines(event, data).every((line) => !line.includes("\x1b")));
});
