import assert from "node:assert/strict";
import { dictLine } from "./train_text.ts";

Deno.test("a metric without a value is a dash, also where all rewards of a step are null", () => {
  const metrics = { loss: 0.00123456, reward: null, grad_norm: NaN, epoch: 2 };
  assert.equal(
    dictLine(metrics, ["reward", "loss", "grad_norm"]),
    "{'reward': –, 'loss': 0.001235, 'grad_norm': nan}",
  );
  assert.equal(dictLine({ epoch: 2 }, null), "{'epoch': 2}");
});
