import assert from "node:assert/strict";
import type { PromptEncoder } from "../bench/evaluation/prompt_encoder.ts";
import { gradients, randomModel, tinyConfig, withReference } from "../models/testing.ts";
import type { Entry } from "../tasks/types.ts";
import { GradientSum } from "./step/gradient_sum.ts";
import { supervisedStep } from "./warm_start.ts";

/** The question and the answer are token ids. */
const ENTRIES: Entry[] = Array.from({ length: 5 }, (_, i) => ({
  question: `1 2 ${3 + i}`,
  answer: Array.from({ length: 1 + (i * 3) % 4 }, (_, t) => (i + 5 * t) % 19).join(" "),
  metadata: {},
}));
const idsOf = (text: string) => text.split(" ").map(Number);
const PROMPTS = {
  prompt: ({ question }: Entry) => ({ ids: idsOf(question) }),
  workedAnswer: ({ answer }: Entry) => idsOf(answer!),
} as unknown as PromptEncoder;

Deno.test("the supervised gradient is that of the whole step, however it is cut", async () => {
  await withReference(async (device) => {
    const model = await randomModel(device, tinyConfig(true), { trainable: "full" });
    const step = async (microBatchSize: number, reduction: "exact" | "fast", lossScale = 1) => {
      const sum = new GradientSum(model, device, { reduction });
      const options = { seed: 1, firstPromptId: 0, microBatchSize, sum, lossScale };
      return {
        result: await supervisedStep(model, PROMPTS, ENTRIES, options),
        gradient: await gradients(model),
      };
    };
    const whole = await step(5, "fast");
    assert.equal(whole.result.tokens, 11);
    assert.equal(whole.result.promptTokens, 15);
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
    model.dispose();
  });
});
