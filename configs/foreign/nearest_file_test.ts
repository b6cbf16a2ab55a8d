/** The same key in the spellings of two projects: the nearer file wins, one file contradicts. */
import assert from "node:assert/strict";
import type { RunConfig } from "../schema/run_config.ts";
import { errorsOf, load } from "../testing.ts";

const BASE = "model: {name: m}\ndata: {task_name: chain_sum}\n";

const CASES: readonly [
  base: string,
  file: string,
  read: (config: RunConfig) => unknown,
  value: unknown,
][] = [
  ["lora: {r: 16}", "actor_rollout_ref: {model: {lora_rank: 32}}", (c) => c.lora?.r, 32],
  ["actor_rollout_ref: {model: {lora_rank: 32}}", "lora: {r: 16}", (c) => c.lora?.r, 16],
  ["seed: 1", "random_state: 7", (c) => c.training.seed, 7],
  ["eval: {num_examples: 9}", "trainer: {save_freq: 5}", (c) => c.training.save_steps, 5],
  ["save_steps: 3", "trainer: {save_freq: 5}", (c) => c.training.save_steps, 5],
  ["report_to: trackio", "trainer: {logger: [wandb]}", (c) => c.logging.report_to, ["wandb"]],
  ["trainer: {logger: [wandb]}", "report_to: trackio", (c) => c.logging.report_to, ["trackio"]],
  ["compute_dtype: float32", "fp16: true", (c) => c.training.compute_dtype, "float16"],
  ["bf16: true", "fp16: true", (c) => c.training.compute_dtype, "float16"],
  [
    "generation_kwargs: {temperature: 0.5}",
    "temperature: 0.7",
    (c) => c.training.temperature,
    0.7,
  ],
  [
    "actor_rollout_ref: {rollout: {response_length: 9}}",
    "max_completion_length: 20",
    (c) => c.training.max_completion_length,
    20,
  ],
  ["rewards: [brevity]", "reward: {use_accuracy: true}", (c) => c.rewards[0]?.name, "correctness"],
];

Deno.test("of two spellings of a key the one in the nearer file wins, without a word", async () => {
  for (const [base, file, read, value] of CASES) {
    const rewards = base.startsWith("rewards") ? "" : "rewards: [correctness]\n";
    const files = { "base.yaml": `${BASE}${rewards}${base}\n` };
    const { config } = await load(`_base_: base.yaml\n${file}\n`, {}, files);
    assert.deepEqual(read(config), value, `${base} below ${file}`);
  }
});

Deno.test("bases are nearer the later they are named, also where two have one base", async () => {
  const files = {
    "root.yaml": `${BASE}rewards: [correctness]\nlora: {r: 8}\n`,
    "left.yaml": "_base_: root.yaml\nactor_rollout_ref: {model: {lora_rank: 32}}\n",
    "right.yaml": "_base_: root.yaml\nseed: 3\n",
    "plain.yaml": "seed: 3\n",
  };
  const rank = async (base: string) => (await load(`_base_: ${base}\n`, {}, files)).config.lora?.r;
  assert.equal(await rank("[left.yaml, plain.yaml]"), 32);
  // root.yaml comes again with right.yaml, over left.yaml, as with one spelling.
  assert.equal(await rank("[left.yaml, right.yaml]"), 8);
});

Deno.test("two spellings of a key in one file with two values are refused", async () => {
  const text = `${BASE}rewards: [correctness]\nsave_steps: 3\ntrainer: {save_freq: 5}\n`;
  assert.deepEqual(await errorsOf(text), [
    "f.yaml:5:22: trainer.save_freq: training.save_steps at f.yaml:4:13 says something else: " +
    "give one of them",
  ]);
  await load(text.replace("5}", "3}"));
});
