import assert from "node:assert/strict";
import { fittingSettings, isUseful } from "./fitting_settings.ts";
import type { StepSize } from "./step_size.ts";

const SIZE = {
  batch: 12,
  accumulation: 1,
  group: 4,
  completion: 100,
  items: 0,
  itemAccumulation: 1,
  optimizer: { moments: "float" },
} as unknown as StepSize;

Deno.test("smaller batches come first, and a length only where it is still of use", async () => {
  const settings = (fits: (size: StepSize) => boolean) =>
    fittingSettings(SIZE, (size) => Promise.resolve(fits(size) ? 0 : -1));
  const byTokens = (most: number) =>
    settings(({ batch, completion }) => batch * completion <= most);
  assert.deepEqual(await byTokens(700), {
    batches: [
      "training.per_device_train_batch_size=6 training.gradient_accumulation_steps=2 " +
      "(the same step in 2 parts)",
    ],
    others: ["training.max_completion_length=58"],
  });
  assert.deepEqual((await byTokens(400)).others, [], "33 of 100 tokens hold no answer");
  // Parts do not help where completions are generated together.
  const whole = await settings(({ batch, accumulation }) => batch * accumulation <= 8);
  assert.deepEqual(whole.batches, ["training.per_device_train_batch_size=8"]);
  assert.deepEqual(await settings(({ optimizer }) => optimizer.moments === "8bit"), {
    batches: [],
    others: ["training.optim=adamw_8bit"],
  });
});

Deno.test("a length that holds no answer is not advised", () => {
  const cases = [[2, 64, false], [31, 64, false], [32, 64, true], [64, 1024, true], [0, 0, false]];
  for (const [tokens, asked, isAdvised] of cases as [number, number, boolean][]) {
    assert.equal(isUseful(tokens, asked), isAdvised, `${tokens} of ${asked}`);
  }
});
