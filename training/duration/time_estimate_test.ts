import assert from "node:assert/strict";
import { assemble } from "../assemble.ts";
import type { ModelSpeed } from "./speed_probe.ts";
import {
  type ConfigChanges,
  metricsWithoutClock,
  shortRunConfig,
  test,
  varying,
} from "../testing.ts";
import { type EstimateInput, estimateSeconds, expectedTokens } from "./time_estimate.ts";
import { GrpoTrainer } from "../trainer.ts";
import { tinyModelFolder } from "../tiny_model_testing.ts";
import { runSizes } from "../run/run_sizes.ts";

const SPEED: ModelSpeed = {
  newToken: 0.01,
  trainedRow: 0.005,
  forwardRow: 0.001,
  sampled: { tokens: 0, ended: 0 },
};

/** Two GRPO steps of two prompts with four completions each; worked answers of five tokens. */
function input(changes: ConfigChanges = {}, warmStartSteps = 0): EstimateInput {
  const config = shortRunConfig("run", changes);
  return {
    config,
    sizes: { ...runSizes(config, 50), warmStartSteps },
    heldOut: 0,
    askedBetween: 0,
    promptTokens: 20,
    sharedTokens: 12,
    answerTokens: 5,
  };
}

Deno.test("completions are as long as worked answers after a warm start, else as measured", () => {
  const long = { training: { max_completion_length: 1000 } };
  const tokens = (ended: number, sampled: number, warm = 0) =>
    Math.round(
      expectedTokens(input(long, warm), { ...SPEED, sampled: { tokens: sampled, ended } }),
    );
  assert.equal(tokens(0, 0, 1), 5);
  // Nothing was measured: twice the worked answer. Then the measurement counts more and more.
  assert.equal(tokens(0, 0), 10);
  assert.equal(tokens(9, 490), 50);
  assert.equal(tokens(99, 4990), 50);
  // A completion that never ends has the maximum length.
  assert.ok(tokens(0, 20_000) > 970, `${tokens(0, 20_000)}`);
  const short = { training: { max_completion_length: 3 } };
  assert.equal(expectedTokens(input(short, 1), SPEED), 3);
});

Deno.test("the estimate adds the seconds of all prompts, completions and rows", () => {
  const near = (a: number, b: number) => assert.ok(Math.abs(a - b) < 1e-9, `${a} is not ${b}`);
  const warm = (changes: ConfigChanges = {}) => input(changes, 1);
  // The tokens of prompts beyond those that they share, then eight completions of five tokens.
  const generate = 2 * 8 * 0.001 + 8 * 5 * 0.01, rows = 2 * 20 + 8 * 5;
  // Three of four groups have a backward pass; the supervised step has four answers.
  const first = 4 * 25 * 0.005, step = generate + rows * (0.75 * 0.005 + 0.25 * 0.001);
  near(estimateSeconds(warm(), SPEED), first + 2 * step);
  // With a KL term all groups have one, and the reference has a forward pass.
  const held = generate + rows * 0.006;
  near(estimateSeconds(warm({ training: { beta: 0.1 } }), SPEED), first + 2 * held);
  // Evaluations before and after, sampled and greedy.
  const evaluation = 4 * 3 * (8 * 0.001 + 5 * 0.01);
  near(estimateSeconds({ ...warm(), heldOut: 3 }, SPEED), first + 2 * step + evaluation);
});

test.onReference("measuring the model's speed does not change the run", async ({ device, dir }) => {
  await tinyModelFolder(`${dir}/model`);
  const run = async (path: string, measure: boolean) => {
    const config = shortRunConfig(path, {
      model: { init: null, model_name_or_path: `${dir}/model` },
      lora: { lora_dropout: 0.1, target_modules: ["q_proj"] },
    });
    const { model, ...parts } = await assemble(config, device);
    const options = { config, configText: "", device, model, ...parts, ...varying };
    const trainer = new GrpoTrainer(options);
    if (measure) {
      const seconds = await trainer.estimateSeconds();
      assert.ok(seconds > 0.001 && seconds < 600, `${seconds} s`);
    }
    await trainer.run();
    model.dispose();
    return await metricsWithoutClock(path);
  };
  assert.deepEqual(await run(`${dir}/a`, true), await run(`${dir}/b`, false));
});
