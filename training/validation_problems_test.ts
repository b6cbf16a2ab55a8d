import assert from "node:assert/strict";
import { shortRunConfig, test, trainOn } from "./testing.ts";

test.onReference("evaluations while training ask the validation problems, those around it the others", async ({ device, dir }) => {
  const config = shortRunConfig(`${dir}/run`, {
    sft: null,
    eval: { num_examples: 3 },
    data: { validation_examples: 2 },
    training: { max_steps: 2, eval_strategy: "steps", eval_steps: 1 },
  });
  const { summary, events } = await trainOn(device, config, { resume: false });
  const plan = events.find((event) => event.type === "plan");
  assert.ok(plan?.type === "plan");
  assert.deepEqual([plan.plan.heldOut, plan.plan.validation], [3, 2]);
  const between = events.flatMap((event) => event.type === "held_out" ? [event.total] : []);
  assert.deepEqual(between, [2, 2]);
  assert.deepEqual([summary.eval_before?.total, summary.eval_after?.total], [3, 3]);
  assert.equal(summary.item_overlap, 0);
});
