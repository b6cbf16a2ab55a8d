import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { refusal, withFolder } from "../core/testing.ts";
import { createDevice } from "../kernels/mod.ts";
import { UsageError } from "../core/errors.ts";
import { loadModel } from "../models/load_model.ts";
import { rewardNames } from "../rewards/registry.ts";
import type { RewardInput, SampleReward } from "../rewards/types.ts";
import { SingleTurnEnv } from "./single_turn_env.ts";
import { train, type TrainOptions } from "./train.ts";

const TINY = {
  model: { init: { hidden_size: 32, intermediate_size: 48 } },
  sft: { max_steps: 2, per_device_train_batch_size: 8 },
  eval: { num_examples: 4 },
  training: {
    max_steps: 3,
    per_device_train_batch_size: 8,
    num_generations: 4,
    logging_steps: 1,
    save_steps: 1,
  },
};

async function withOutput(
  work: (options: Omit<TrainOptions, "config">, folder: string) => Promise<void>,
): Promise<void> {
  await withFolder(async (folder) => {
    const overrides = { ...TINY, training: { ...TINY.training, output_dir: `${folder}/run` } };
    await work({ overrides, device: "wasm", threads: 1 }, `${folder}/run`);
  });
}

const dataset = Array.from({ length: 200 }, (_, i) => ({
  question: `Add: ${i}+1`,
  answer: String(i + 1),
  metadata: { first: i },
}));

class Short implements SampleReward {
  readonly name = "short";
  readonly description = "1 for nothing";
  readonly params = {};
  readonly maxTokens = 20;
  compute({ completionIds }: RewardInput): number {
    return 1 - completionIds.length / this.maxTokens;
  }
}

function has_digit({ completion, info, answer }: RewardInput): number {
  assert.equal(answer, String(Number(info["first"]) + 1));
  return /\d/.test(completion) ? 1 : 0;
}

Deno.test("a run on user data with rewards that are a function, an object and a name", () =>
  withOutput(async (options, folder) => {
    const env = new SingleTurnEnv({
      name: "additions",
      dataset,
      rewards: ["format_answer", has_digit, { reward: new Short(), weight: 0.25 }],
      systemPrompt: "Count.",
    });
    const seen: string[] = [], sizes: number[] = [];
    const summary = await train({
      config: "quickstart",
      ...options,
      env,
      on: {
        step: ({ step }) => seen.push(`step ${step}`),
        checkpoint: ({ step }) => seen.push(`checkpoint ${step}`),
        eval: ({ moment }) => seen.push(`eval ${moment}`),
        completions: ({ groups, rewardNames }) => {
          assert.deepEqual(rewardNames, ["format_answer", "has_digit", "short"]);
          for (const { prompt, question, completions } of groups) {
            assert.equal(prompt, `Count.\n\n${question}`);
            for (const { rewards } of completions) assert.equal(rewards.length, 3);
            sizes.push(completions.length);
          }
        },
      },
    });
    assert.equal(summary.status, "completed");
    assert.deepEqual(sizes, Array(6).fill(4));
    assert.ok(seen.includes("eval before") && seen.includes("step 1"));
    assert.deepEqual(seen.slice(-3), ["step 3", "checkpoint 3", "eval after"]);
    const config = await readFile(`${folder}/config.yaml`, "utf8");
    assert.match(config, /dataset_name: additions/);
    assert.match(config, /name: short\n\s+weight: 0\.25/);
    assert.ok(!rewardNames().includes("has_digit"), "the reward stays registered after the run");
  }));

Deno.test("an aborted run is saved, and resumes to the bits of an uninterrupted one", () =>
  withOutput(async (options, folder) => {
    const whole = await train({ config: "quickstart", ...options });
    const weights = await readFile(`${folder}/model.safetensors`);
    const controller = new AbortController();
    const stopped = await train({
      config: "quickstart",
      ...options,
      force: true,
      signal: controller.signal,
      on: { step: ({ step, phase }) => phase === "grpo" && step === 2 && controller.abort() },
    });
    assert.deepEqual([stopped.status, stopped.steps], ["stopped", 2]);
    const resumed = await train({ config: "quickstart", ...options, resume: true });
    assert.deepEqual([resumed.status, resumed.steps], ["completed", 3]);
    assert.deepEqual(resumed.eval_after, whole.eval_after);
    assert.deepEqual(await readFile(`${folder}/model.safetensors`), weights);
    const late = { config: "quickstart", ...options, signal: controller.signal };
    await assert.rejects(train(late), /aborted before the run began/);
  }));

Deno.test("weights that could not be loaded again are not saved", () =>
  withOutput(async ({ overrides, ...options }, folder) => {
    const training = { ...TINY.training, output_dir: folder, weight_decay: 1e300 };
    await assert.rejects(
      train({ config: "quickstart", ...options, overrides: { ...overrides, training } }),
      /the training has diverged, nothing is saved: tensor ".*": element \[\d+\] is /,
    );
  }));

Deno.test("a configuration may be an object, which names its base", () =>
  withOutput(async (options, folder) => {
    const device = await createDevice("wasm", { threads: 1 });
    try {
      const summary = await train({
        config: {
          _base_: "rgx:experiments/quickstart",
          training: { max_steps: 1, output_dir: folder },
          logging: { run_name: "from an object" },
        },
        overrides: { ...TINY, training: { ...TINY.training, max_steps: 1 } },
        device,
      });
      assert.equal(summary.steps, 1);
      const env = new SingleTurnEnv({ dataset, rewards: ["correctness", has_digit] });
      const loaded = await loadModel(folder, device);
      const result = await env.evaluate(loaded, { numExamples: 3, n: 2, maxNewTokens: 8 });
      assert.equal(result.completions.length, 6);
      assert.deepEqual(Object.keys(result.rewards), ["correctness", "has_digit"]);
      // Greedy decoding: both completions of a problem are equal.
      assert.equal(result.completions[0]!.completion, result.completions[1]!.completion);
      const sum = result.completions.reduce((total, { reward }) => total + reward, 0);
      assert.ok(Math.abs(result.reward - sum / 6) < 1e-12);
      loaded.model.dispose();
    } finally {
      device.close();
    }
    const unwritable = { config: { training: { seed: () => 1 } }, ...options };
    await assert.rejects(
      // @ts-expect-error: a function is no seed
      train(unwritable),
      refusal(/^configuration object: .*Function/, UsageError),
    );
    const misspelt = { config: { _base_: "rgx:experiments/quickstart", trainin: {} }, ...options };
    await assert.rejects(
      train(misspelt),
      /configuration object:\d+:1: trainin.*did you mean training/,
    );
  }));

Deno.test("an environment without problems, rewards or names is refused", () => {
  assert.throws(() => new SingleTurnEnv({ dataset: [], rewards: ["correctness"] }), /no entries/);
  assert.throws(() => new SingleTurnEnv({ dataset, rewards: [] }), /at least one reward/);
  assert.throws(() => new SingleTurnEnv({ dataset, rewards: [() => 1] }), /needs a name/);
  assert.throws(() => new SingleTurnEnv({ dataset, rewards: ["corectness"] }), /correctness/);
  const read = (text: string) =>
    new SingleTurnEnv({ dataset: JSON.parse(text), rewards: ["correctness"], name: "mine" });
  assert.throws(() => read('[{"question":"a"},{"prompt":"b"}]'), /mine: entry 1 .*fields: prompt/);
  assert.throws(() => read("[null]"), /mine: entry 0 has no question/);
  assert.throws(() => read('[{"question":"a","answer":3}]'), /entry 0: the answer is 3/);
});

Deno.test("several callers may use one environment at the same time", async () => {
  const env = new SingleTurnEnv({ dataset, rewards: [has_digit] });
  const isKnown = () => rewardNames().includes("has_digit");
  await env.withRewards(async () => {
    await env.withRewards(() => Promise.resolve());
    assert.ok(isKnown());
    const other = new SingleTurnEnv({ dataset, rewards: [has_digit] });
    await assert.rejects(other.withRewards(() => Promise.resolve()), /the name is taken/);
    assert.ok(isKnown());
  });
  assert.ok(!isKnown());
});
