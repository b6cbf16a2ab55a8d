import assert from "node:assert/strict";
import type { WorkedExample } from "../bench/evaluation/prompt_encoder.ts";
import { gradients } from "../models/testing.ts";
import { GradientSum } from "./step/gradient_sum.ts";
import { supervisedStep } from "./warm_start.ts";
import { test } from "./step/optimizer_testing.ts";

const EXAMPLES: WorkedExample[] = Array.from({ length: 5 }, (_, i) => ({
  promptIds: [1, 2, 3 + i],
  segments: [{
    from: "model",
    ids: Array.from({ length: 1 + (i * 3) % 4 }, (_, t) => (i + 5 * t) % 19),
  }],
}));

test.withModel("the supervised gradient is that of the whole step, however it is cut", async ({ model, device }) => {
  const step = async (microBatchSize: number, reduction: "exact" | "fast", lossScale = 1) => {
    const sum = new GradientSum(model, device, { reduction });
    const options = { seed: 1, firstPromptId: 0, microBatchSize, sum, lossScale };
    return {
      result: await supervisedStep(model, EXAMPLES, options),
      gradient: await gradients(model),
    };
  };
  const whole = await step(5, "fast");
  assert.equal(whole.result.tokens, 11);
  assert.equal(whole.result.contextTokens, 15);
  for (const size of [1, 2, 3]) {
    for (const reduction of ["exact", "fast"] as const) {
      const { result, gradient } = await step(size, reduction);
      assert.equal(result.tokens, whole.result.tokens);
      assert.ok(Math.abs(result.loss - whole.result.loss) < 1e-13);
      assert.ok(Math.abs(result.entropy - whole.result.entropy) < 1e-13);
      for (const [name, values] of whole.gradient) {
        const largest = Math.max(...values.map(Math.abs)), cut = gradient.get(name)!;
        assert.ok(largest > 0, `${name} has no gradient`);
        values.forEach((x, i) => assert.ok(Math.abs(x - cut[i]!) <= 1e-12 * largest, name));
      }
    }
  }
  // The scale for products in float16 scales the gradient alone, exactly: it is a power of two.
  const scaled = await step(5, "fast", 64);
  assert.equal(scaled.result.loss, whole.result.loss);
  for (const [name, values] of whole.gradient) {
    assert.deepEqual(scaled.gradient.get(name), values.map((x) => 64 * x), name);
  }
});

test.withModel("messages between two answers are read, and no gradient comes from them", async ({ model, device }) => {
  const step = async (segments: WorkedExample["segments"], promptIds = [1, 2]) => {
    const sum = new GradientSum(model, device, { reduction: "exact" });
    const options = { seed: 1, firstPromptId: 0, microBatchSize: 1, sum };
    const result = await supervisedStep(model, [{ promptIds, segments }], options);
    return { result, gradient: await gradients(model) };
  };
  const [call, reply, answer] = [[3, 4], [5, 6, 7], [8, 9, 10]];
  const whole = await step([
    { from: "model", ids: call },
    { from: "environment", ids: reply },
    { from: "model", ids: answer },
  ]);
  assert.equal(whole.result.tokens, 5);
  assert.equal(whole.result.contextTokens, 5);
  const first = await step([{ from: "model", ids: call }]);
  const last = await step([{ from: "model", ids: answer }], [1, 2, ...call, ...reply]);
  const mixed = (a: number, b: number) => (2 * a + 3 * b) / 5;
  assert.ok(Math.abs(whole.result.loss - mixed(first.result.loss, last.result.loss)) < 1e-12);
  for (const [name, values] of whole.gradient) {
    const one = first.gradient.get(name)!, other = last.gradient.get(name)!;
    values.forEach((x, i) => assert.ok(Math.abs(x - mixed(one[i]!, other[i]!)) < 1e-6, name));
  }
});
