/** The same key in the spellings of two projects: the nearer file wins, one file contradicts. */
import assert from "node:assert/strict";
import { parse } from "yaml";
import { errorsOf, load, valueAt } from "../testing.ts";

const BASE = "model: {name: m}\ndata: {task_name: chain_sum}\n";

/** A line of the base, one of the file, and what that means: a key and its value. */
const CASES = `
lora: {r: 16} | actor_rollout_ref: {model: {lora_rank: 32}} | lora.r | 32
actor_rollout_ref: {model: {lora_rank: 32}} | lora: {r: 16} | lora.r | 16
seed: 1 | random_state: 7 | training.seed | 7
eval: {num_examples: 9} | trainer: {save_freq: 5} | training.save_steps | 5
save_steps: 3 | trainer: {save_freq: 5} | training.save_steps | 5
report_to: trackio | trainer: {logger: [wandb]} | logging.report_to | [wandb]
trainer: {logger: [wandb]} | report_to: trackio | logging.report_to | [trackio]
compute_dtype: float32 | fp16: true | training.compute_dtype | float16
bf16: true | fp16: true | training.compute_dtype | float16
actor_rollout_ref.actor.optim.warmup_style: cosine | actor_rollout_ref.actor.optim.lr_scheduler_type: constant | training.lr_scheduler_type | constant_with_warmup
generation_kwargs: {temperature: 0.5} | temperature: 0.7 | training.temperature | 0.7
actor_rollout_ref.rollout.response_length: 9 | max_tokens: 20 | training.max_completion_length | 20
rewards: [brevity] | reward: {use_accuracy: true} | rewards.0.name | correctness
`.trim().split("\n").map((line) => line.split(" | ") as [string, string, string, string]);

Deno.test("of two spellings of a key the one in the nearer file wins, without a word", async () => {
  for (const [base, file, key, value] of CASES) {
    const rewards = base.startsWith("rewards") ? "" : "rewards: [correctness]\n";
    const files = { "base.yaml": `${BASE}${rewards}${base}\n` };
    const { config } = await load(`_base_: base.yaml\n${file}\n`, {}, files);
    assert.deepEqual(valueAt(config, key), parse(value), `${base} below ${file}`);
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
