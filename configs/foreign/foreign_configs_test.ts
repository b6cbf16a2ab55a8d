/**
 * Configurations as the documentation of verl, TRL, open-r1 and reasoning-gym has them: each is
 * obeyed, or refused with exactly these lines.
 */
import assert from "node:assert/strict";
import { RgxError } from "../../core/errors.ts";
import type { RunConfig } from "../schema/run_config.ts";
import { loadConfig } from "../load.ts";
import { assertValues, withFiles } from "../testing.ts";

const FOLDER = new URL("../../tests/golden/foreign_configs/", import.meta.url);

/** The files that they name, which are only looked for. */
const DATA = Object.fromEntries(
  ["", "gsm8k/", "math/", "dapo/"].flatMap((folder) =>
    ["train", "test"].map((name) => [`${folder}${name}.parquet`, "x"])
  ),
);

interface Case {
  file: string;
  /** What a new user adds, because verl has it in code: the rewards. */
  more?: string[];
  /** Lines of the refusal. */
  refused?: string[];
  /** Dotted keys of rgx with their values, after what is refused was changed by `changes`. */
  obeyed: string;
  changes?: string[];
}

const RANKS = "rgx train CONFIG --ranks N trains with several processes";
const NOT = "not supported yet by this version";
const CORRECTNESS = ["rewards=[correctness]"];

const CASES: readonly Case[] = [
  {
    file: "verl_quickstart.args",
    more: CORRECTNESS,
    refused: [
      "rgx:verl/ppo_trainer.yaml:30:8: training.num_generations: expected an integer ≥ 2, found 1 " +
      "(actor_rollout_ref.rollout.n)",
      `rgx:verl/ppo_trainer.yaml:46:18: algorithm.adv_estimator: gae is ${NOT}, available: grpo, ` +
      "grpo_vectorized, rloo, rloo_vectorized, reinforce_plus_plus, reinforce_plus_plus_baseline, " +
      "remax, opo or maxrl (algorithm.adv_estimator)",
    ],
    changes: ["algorithm.adv_estimator=grpo", "actor_rollout_ref.rollout.n=8"],
    obeyed: `
      data.dataset_name: gsm8k/train.parquet, data.eval_dataset_name: gsm8k/test.parquet,
      training.generation_batch_size: 2048, training.gradient_accumulation_steps: 128,
      training.eval_on_start: false, training.eval_steps: 10, training.beta: 0`,
  },
  {
    file: "verl_grpo_qwen2_7b.args",
    more: CORRECTNESS,
    obeyed: `
      model.model_name_or_path: Qwen/Qwen2-7B-Instruct, data.dataset_name: gsm8k/train.parquet,
      data.eval_dataset_name: gsm8k/test.parquet, training.num_generations: 5,
      training.generation_batch_size: 5120, training.per_device_train_batch_size: 40,
      training.gradient_accumulation_steps: 32, training.beta: 0.001,
      training.use_bias_correction_kl: false, training.weight_decay: 0.01,
      training.lr_scheduler_type: constant_with_warmup, training.delta: 3,
      training.max_prompt_length: 512, training.max_completion_length: 1024, training.save_steps:
      20, training.eval_steps: 5, training.num_train_epochs: 15, training.logging_steps: 1,
      eval.temperature: 0, logging.project: verl_grpo_example_gsm8k, logging.report_to: [wandb]`,
  },
  {
    file: "verl_lora_qwen3_8b.args",
    more: CORRECTNESS,
    // 24576 tokens at once are 8 of the longest completions.
    obeyed: `
      lora.r: 64, lora.lora_alpha: 32, lora.target_modules: all-linear,
      training.per_device_train_batch_size: 8, training.gradient_accumulation_steps: 40,
      training.learning_rate: 3e-06, training.eval_on_start: false`,
  },
  {
    file: "verl_gspo_qwen3_8b.args",
    more: CORRECTNESS,
    refused: [
      "command line: data.train_files: 2 files: join them into one",
      "command line: data.val_files: 2 files: join them into one",
    ],
    changes: ["data.train_files=gsm8k/train.parquet", "data.val_files=gsm8k/test.parquet"],
    obeyed: `
      training.importance_sampling_level: sequence, training.loss_type: grpo, training.epsilon:
      0.0003, training.epsilon_high: 0.0004, training.delta: null, training.beta: 0,
      training.num_generations: 16`,
  },
  {
    file: "verl_dapo_qwen2_5_32b.args",
    more: CORRECTNESS,
    refused: [
      "command line: actor_rollout_ref.rollout.val_kwargs.top_p: must be that of training, which " +
      "is 1, or val_kwargs.temperature 0",
      "command line: algorithm.filter_groups.metric: groups are compared by the sum of their " +
      "rewards: write seq_final_reward, or have one reward",
    ],
    changes: [
      "actor_rollout_ref.rollout.val_kwargs.top_p=1",
      "algorithm.filter_groups.metric=seq_final_reward",
    ],
    obeyed: `
      training.dynamic_sampling: true, training.dynamic_sampling_max_batches: 10,
      training.truncate_prompts: left, training.epsilon: 0.2, training.epsilon_high: 0.28,
      training.delta: 10, training.loss_type: dapo, training.warmup_steps: 10,
      training.weight_decay: 0.1, training.output_dir: ckpts/DAPO,
      training.resume_from_checkpoint: true, eval.temperature: 1, rewards.1.name: soft_overlong,
      rewards.1.params.max_completion_len: 20480, rewards.1.params.soft_punish_cache: 4096`,
  },
  {
    file: "verl_megatron_lora_qwen2_7b.args",
    more: CORRECTNESS,
    obeyed: `
      lora.r: 256, lora.lora_alpha: 512, lora.target_modules: [q_proj, k_proj, v_proj, o_proj,
      gate_proj, up_proj, down_proj], training.shuffle_dataset: false,
      training.per_device_train_batch_size: 2`,
  },
  {
    file: "reasoning_gym_algorithmic.yaml",
    obeyed: `
      data.num_examples: 20000, data.system_prompt: DeepSeekZero, data.add_instructions: false,
      data.tasks.2.task_name: binary_alternation, data.tasks.2.config.p_solvable: 0.9, curriculum:
      null, training.max_steps: 500, training.beta: 0.001, training.entropy_coef: 0.001,
      training.weight_decay: 0.01, rewards.1.name: rg_format, rewards.1.weight: 0.2`,
  },
  {
    file: "reasoning_gym_curriculum.yaml",
    obeyed: `
      data.tasks: [{task_name: spell_backward, weight: 1, config: {}}], data.add_instructions:
      false, curriculum.curricula.spell_backward.attribute_levels: {word_len: 0}, rewards.1.name:
      rg_cosine`,
  },
  {
    file: "trl_grpo_lora.args",
    obeyed: `
      lora.r: 1, lora.target_modules: all-linear, training.generation_batch_size: 16,
      training.lr_scheduler_type: cosine, training.max_steps: 200, rewards.0.name:
      accuracy_reward, logging.report_to: [trackio]`,
  },
  {
    file: "trl_grpo_colocate.yaml",
    obeyed: `
      lora.lora_dropout: 0.05, training.chat_template_kwargs: {enable_thinking: false},
      training.lr_scheduler_kwargs: {min_lr_rate: 0.1}, training.loss_type: dr_grpo,
      training.scale_rewards: none, training.mask_truncated_completions: true, rewards.1.weight:
      0.1`,
  },
  {
    file: "trl_grpo_multi_gpu.yaml",
    refused: [
      `trl_grpo_multi_gpu.yaml:4:1: num_processes: ${NOT} (only 1); ${RANKS}`,
      `trl_grpo_multi_gpu.yaml:5:1: accelerate_config: ${NOT} (only single_gpu); ${RANKS}`,
    ],
    changes: [
      "num_processes=1",
      "accelerate_config=null",
    ],
    obeyed: "training.learning_rate: 1e-06, logging.report_to: [trackio]",
  },
  {
    file: "open_r1_qwen2_5_1_5b.yaml",
    obeyed: `
      data.dataset_prompt_column: problem, data.system_prompt: "Think, then answer.",
      training.warmup_steps: 0.1, training.save_strategy: epoch, training.save_total_limit: 1,
      rewards.0.name: accuracy_reward, rewards.1.name: open_r1_format, rewards.2.name:
      open_r1_tag_count`,
  },
];

/** The configuration, or the lines of its refusal. */
async function tried(file: string, more: readonly string[]): Promise<RunConfig | string[]> {
  const text = await Deno.readTextFile(new URL(file, FOLDER));
  return await withFiles({ ...DATA, [file]: text }, async (cwd) => {
    const lines = file.endsWith(".args") ? text.trim().split("\n") : [];
    const config = file.endsWith(".yaml")
      ? file
      : lines[0]!.startsWith("--")
      ? {}
      : { _base_: "rgx:verl/ppo_trainer.yaml" };
    try {
      return (await loadConfig(config, { overrides: [...lines, ...more], cwd })).config;
    } catch (error) {
      if (!(error instanceof RgxError) || error.exitCode !== 2) throw error;
      return error.message.split("\n");
    }
  });
}

for (const { file, more = [], refused, changes = [], obeyed } of CASES) {
  Deno.test(`${file} is ${refused === undefined ? "obeyed" : "refused, and obeyed when changed"}`, async () => {
    if (refused !== undefined) assert.deepEqual(await tried(file, more), refused);
    const config = await tried(file, [...more, ...changes]);
    assert.ok(!Array.isArray(config), String(config));
    assertValues(config, obeyed);
  });
}

Deno.test("every file of the folder is tried", async () => {
  const names: string[] = [];
  for await (const { name } of Deno.readDir(FOLDER)) names.push(name);
  assert.deepEqual(names.sort(), CASES.map(({ file }) => file).sort());
});
