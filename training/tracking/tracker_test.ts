import assert from "node:assert/strict";
import { trackedRunId } from "./tracker.ts";
import { withTracked } from "./testing.ts";
import { trackedMetrics } from "./tracker.ts";

Deno.test("metrics are named as in transformers' integrations, without non-finite ones", () => {
  assert.deepEqual(
    trackedMetrics({
      loss: 1,
      "rewards/correctness/mean": 0.5,
      eval_accuracy: 0.25,
      kl: null,
      grad_norm: NaN,
      entropy: Infinity,
    }),
    { "train/loss": 1, "train/rewards/correctness/mean": 0.5, "eval/accuracy": 0.25 },
  );
});

Deno.test("a run keeps its id; a damaged file is replaced by a new id", () =>
  withTracked((_run, folder) => {
    const id = trackedRunId(folder);
    assert.match(id, /^[0-9a-f]{32}$/);
    assert.equal(trackedRunId(folder), id);
    Deno.writeTextFileSync(`${folder}/tracking.json`, '{"run_id": "short"}');
    const other = trackedRunId(folder);
    assert.notEqual(other, id);
    assert.equal(trackedRunId(folder), other);
  }));
