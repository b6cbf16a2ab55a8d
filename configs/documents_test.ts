/**
 * The configurations of the pipelines that rgx replaces (`tests/golden/pipelines/`), and their
 * command lines: each loads, or is refused for the reason that stands here.
 */
import assert from "node:assert/strict";
import { withConfigArgument } from "./foreign/config_arguments.ts";
import { readPipelines } from "../tests/golden.ts";
import { errorsOf, load } from "./testing.ts";

/** What a block lacks to be a whole configuration, by the first key that is not there. */
const COMPLETED: [key: RegExp, yaml: string][] = [
  [/^(model:|_base_:)/m, "model: m\n"],
  [/^(data:|_base_:)/m, "task: chain_sum\n"],
  [/^(rewards:|_base_:)/m, "rewards: [correctness]\n"],
];

/** Blocks that are refused: what they hold, and why. */
const REFUSED: [block: RegExp, reason: RegExp][] = [
  // A reward that the reader is told to write: no file of it is named.
  [/name: "my_reward"/, /unknown reward "my_reward"/],
  // Placeholders for the name of a task.
  [/task_name: "(your_task|any_reasoning_gym_task)"/, /unknown task/],
];

/** Files that blocks name as their bases. */
const BASES = {
  "base.yaml": "training: {per_device_train_batch_size: 8}\n",
  "models/qwen-7b.yaml": 'model:\n  name: "Qwen/Qwen2.5-7B-Instruct"\n\nlora: {r: 64}\n',
  "tasks/leg_counting.yaml": "data: {task_name: leg_counting}\nrewards: [{name: correctness}]\n",
  "tasks/your_task.yaml": "data: {task_name: tower_of_hanoi}\nrewards: [{name: correctness}]\n",
};

/** Each is one configuration, or a part of one. */
const blocks = readPipelines();

/** Bases of the blocks lie in the folder above them. */
function atHome(block: string): string {
  return block.replaceAll("- ../", "- ./");
}

Deno.test("every YAML block of the example documents loads, or is refused for a known reason", async () => {
  assert.ok(blocks.length >= 11, `only ${blocks.length} blocks`);
  const reasons = new Set<RegExp>();
  for (const block of blocks) {
    const whole = atHome(block) +
      COMPLETED.filter(([there]) => !there.test(block)).map(([, yaml]) => yaml).join("");
    const lines = await errorsOf(whole, {}, BASES);
    const expected = REFUSED.find(([what]) => what.test(block));
    if (expected === undefined) assert.deepEqual(lines, [], whole);
    else {
      assert.ok(lines.length > 0, whole);
      for (const line of lines) assert.match(line, expected[1]);
      reasons.add(expected[1]);
    }
  }
  assert.equal(reasons.size, REFUSED.length, "a reason is listed that no block has");
});

const VERL = `data:
  train_files: train.parquet
  train_batch_size: 16
  max_prompt_length: 512
  max_response_length: 1024
task: chain_sum
actor_rollout_ref:
  model: {path: Qwen/Qwen2.5-3B-Instruct, enable_gradient_checkpointing: true}
  actor:
    strategy: fsdp
    ppo_mini_batch_size: 8
    ppo_micro_batch_size_per_gpu: 4
    optim: {lr: 2.0e-6, lr_warmup_steps_ratio: 0.1, warmup_style: constant, min_lr_ratio: null}
  rollout: {name: vllm, n: 8, top_k: -1, temperature: 0.9, gpu_memory_utilization: 0.6}
algorithm: {adv_estimator: grpo, kl_ctrl: {type: fixed}}
reward: {use_accuracy: true}
critic: {optim: {lr: 1.0e-5}}
`;

Deno.test("verl's recipe loads without its defaults, with null keys and verbose", async () => {
  const recipe = `hydra: {searchpath: [file://verl/verl/trainer/config]}
defaults: [ppo_trainer, _self_]
verbose: true
${VERL.replace("    strategy: fsdp", "    strategy: fsdp\n    ppo_micro_batch_size: null")}`;
  const { config, notes } = await load(recipe);
  assert.equal(config.training.per_device_train_batch_size, 4);
  assert.deepEqual([config.training.weight_decay, config.training.delta], [0.01, 3]);
  assert.equal(config.training.logging_steps, 1);
  assert.ok(!notes.some((note) => note.includes("defaults of rgx")), notes.join("\n"));
  const there = await load(recipe, {}, { "ppo_trainer.yaml": "seed: 7\n" });
  assert.equal(there.config.training.seed, 7);
  const other = "defaults: [ppo_trainer]\nmodel: m\ntask: chain_sum\nrewards: [correctness]\n";
  assert.match((await errorsOf(other))[0]!, /defaults: no such file: ppo_trainer.yaml/);
  const micro = "ppo_micro_batch_size_per_gpu: 4\n    ppo_micro_batch_size: ";
  const twice = (value: string) => VERL.replace("ppo_micro_batch_size_per_gpu: 4", micro + value);
  assert.equal((await load(twice("null"))).config.training.per_device_train_batch_size, 4);
  assert.equal((await load(twice("4"))).config.training.per_device_train_batch_size, 4);
  assert.match((await errorsOf(twice("2")))[0]!, /the same key as .*per_gpu/);
});

Deno.test("--config-path and --config-name name the configuration", () => {
  const named = (line: string) => withConfigArgument(line.split(" ")).join(" ");
  assert.equal(
    named("--config-path configs/inter --config-name algorithmic_qwen_3b trainer.nnodes=1"),
    "configs/inter/algorithmic_qwen_3b.yaml trainer.nnodes=1",
  );
  assert.equal(named("--config_name=a.yml --config-path=c/ beta=1"), "c/a.yml beta=1");
  assert.equal(named("--threads 2 --config-name quickstart"), "quickstart --threads 2");
  assert.equal(named("--config my.yaml --beta 0"), "my.yaml --beta 0");
  assert.equal(named("quickstart a_b=1 --c_d 2"), "quickstart a_b=1 --c_d 2");
  assert.throws(() => named("--config-path configs x"), /--config-name/);
  assert.throws(() => named("--config-name"), /expected a name/);
});
