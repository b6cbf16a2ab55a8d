/**
 * The value that each spelling of a key sets, however it is written: in a file, dotted on the
 * command line, and as a flag. And the defaults, which are those of TRL, transformers and PEFT.
 */
import assert from "node:assert/strict";
import { parse } from "yaml";
import type { Json } from "./documents/node.ts";
import { loadConfig } from "./load.ts";
import { parseOverrides } from "./reading/overrides.ts";
import { valueAt } from "./testing.ts";

const BASE = "{model: m, task: chain_sum, rewards: [correctness]}";

/**
 * Spellings → value, canonical key, what that holds then, what stands beside it (a key with the
 * value null is taken away from the base). Without a third column: the value itself.
 */
const ROWS = `
model.name model.model_name model_name model model_path actor_rollout_ref.model.path | z | model.model_name_or_path | | model: null
model.max_seq_length max_seq_length | 2048 | training.max_prompt_length | 1536
model.torch_dtype torch_dtype dtype | bfloat16 | model.dtype
lora.r lora_r lora.rank lora_rank r | 7 | lora.r | | lora: {}
lora.lora_alpha lora.alpha lora_alpha | 9 | lora.lora_alpha | | lora: {}
lora.lora_dropout lora.dropout lora_dropout | 0.2 | lora.lora_dropout | | lora: {}
lora.target_modules lora_target_modules target_modules | [k_proj] | lora.target_modules | | lora: {}
lora.modules_to_save lora_modules_to_save modules_to_save | [lm_head] | lora.modules_to_save | | lora: {}
lora.target_modules | '.*[qv]_proj' | lora.target_modules | | lora: {}
lora.exclude_modules | [layers.0.self_attn.q_proj] | lora.exclude_modules | | lora: {}
lora.layers_to_transform | [0, 2] | lora.layers_to_transform | | lora: {}
lora.rank_pattern | {'layers.2.*': 4} | lora.rank_pattern | | lora: {}
lora.alpha_pattern | {v_proj: 1.5} | lora.alpha_pattern | | lora: {}
lora.init_lora_weights | gaussian | lora.init_lora_weights | | lora: {}
lora.init_lora_weights | false | lora.init_lora_weights | 'false' | lora: {}
lora | {} | lora.target_modules | null
lora | {} | lora.init_lora_weights | 'true'
lora | {} | lora.lora_dropout | 0
lora.bias | none | lora.r | 16 | lora: {}
lora.task_type lora_task_type task_type | CAUSAL_LM | lora.r | 16 | lora: {}
lora.fan_in_fan_out lora.runtime_config lora.megatron_config | null | lora.r | 16 | lora: {}
use_peft lora.enabled model.use_peft | true | lora.r | 16
use_peft | false | lora | null | lora: {r: 4}
lora | {} | lora.lora_alpha | 32
lora | null | lora
sft.max_steps | 0 | sft | null
sft.steps | 5 | sft.max_steps
rope_scaling model_init_kwargs.rope_scaling model_init_kwargs.rope_parameters | {rope_type: yarn, factor: 4} | model.rope_scaling
actor_rollout_ref.model.override_config.rope_scaling | {rope_type: yarn, factor: 4} | model.rope_scaling
data.name data.task data.task_name task_name task | leg_counting | data.task_name | | task: null
data.size dataset_size reasoning_gym.dataset_size num_examples | 77 | data.num_examples
reasoning_gym.datasets datasets data.tasks | {chain_sum: {weight: 2}} | data.tasks.0.weight | 2 | task: null
reasoning_gym.developer_prompt data.developer_prompt | hi | data.system_prompt
data.config data.params data.task_config | {min_terms: 3} | data.task_config.min_terms | 3
training.num_epochs num_epochs trainer.total_epochs | 2 | training.num_train_epochs
trainer.total_training_steps | 20 | training.max_steps
training.batch_size batch_size | 16 | training.per_device_train_batch_size
training.lr lr actor_rollout_ref.actor.optim.lr | 3e-6 | training.learning_rate
training.generation_config.num_return_sequences num_return_sequences actor_rollout_ref.rollout.n | 4 | training.num_generations
training.generation_config.max_new_tokens max_new_tokens data.max_response_length max_tokens | 99 | training.max_completion_length
training.generation_config.temperature actor_rollout_ref.rollout.temperature temperature | 0.7 | training.temperature
training.generation_config.top_p actor_rollout_ref.rollout.top_p top_p | 0.9 | training.top_p
training.generation_config.top_k actor_rollout_ref.rollout.top_k top_k | 5 | training.top_k
training.generation_config.repetition_penalty | 1.1 | training.repetition_penalty
training.generation_config.do_sample | true | training.temperature | 1
actor_rollout_ref.rollout.top_k top_k generation_kwargs.top_k | -1 | training.top_k | 0
top_k | null | training.top_k | 0
generation_kwargs | {top_k: -1} | training.top_k | 0
data.max_prompt_length max_prompt_length | 100 | training.max_prompt_length
actor_rollout_ref.actor.kl_loss_coef | 0.03 | training.beta | | actor_rollout_ref: {actor: {use_kl_loss: true}}
actor_rollout_ref.actor.kl_loss_coef | 0.03 | training.beta | 0
actor_rollout_ref.actor.clip_ratio actor_rollout_ref.actor.clip_ratio_low | 0.1 | training.epsilon
actor_rollout_ref.actor.clip_ratio_high | 0.3 | training.epsilon_high
actor_rollout_ref.actor.entropy_coeff | 0.01 | training.entropy_coef
actor_rollout_ref.actor.grad_clip | 0.5 | training.max_grad_norm
actor_rollout_ref.actor.loss_agg_mode | token-mean | training.loss_type | dapo
actor_rollout_ref.actor.loss_agg_mode | seq-mean-token-mean | training.loss_type | grpo
actor_rollout_ref.actor.loss_agg_mode | seq-mean-token-sum-norm | training.loss_type | dr_grpo
trainer.n_gpus_per_node | 4 | slurm.gpus
trainer.nnodes | 2 | slurm.nodes
trainer.save_freq | 7 | training.save_steps
trainer.test_freq | 7 | training.eval_steps | | eval: {num_examples: 9}
trainer.val_before_train | true | training.eval_on_start | | eval: {num_examples: 9}
trainer.logger | [console, wandb] | logging.report_to | [wandb]
trainer.project_name | p | logging.project
trainer.experiment_name | e | logging.run_name
trainer.default_local_dir | d | training.output_dir
trainer.resume_mode | auto | training.resume_from_checkpoint | true
reward.use_accuracy | true | rewards.0.name | correctness | rewards: null
reward.secondary_rewards | [{name: format, scaling_factor: 0.2}] | rewards.0.weight | 0.2 | rewards: null
reward_funcs | [correctness, brevity] | rewards.1.name | brevity | rewards: null
reward_weights | [0.5] | rewards.0.weight | 0.5
logging.run_name run_name | q | logging.run_name
logging.wandb_project wandb_project logging.project project_name | w | logging.project
logging.wandb_project wandb_project | w | logging.report_to | [wandb]
logging.use_wandb use_wandb | true | logging.report_to | [wandb]
logging.use_trackio use_trackio | true | logging.report_to | [trackio]
no_trackio | true | logging.report_to | [wandb] | report_to: [trackio, wandb]
report_to | none | logging.report_to | []
logging.log_steps training.log_every | 3 | training.logging_steps
training.save_every save_every | 3 | training.save_steps
evaluation_strategy | steps | training.eval_strategy | | eval: {num_examples: 9}
warmup_ratio | 0.1 | training.warmup_steps
activation_checkpointing | false | training.gradient_checkpointing
vllm_importance_sampling_cap | 2 | training.vllm_importance_sampling_clip_max
bf16 | true | training.compute_dtype | bfloat16 | fp16: false
bf16 | false | training.compute_dtype | float32
bf16 | null | training.compute_dtype | float32
fp16 | true | training.compute_dtype | float16 | bf16: false
training.compute_dtype | bf16 | training.compute_dtype | bfloat16
compute_dtype | fp16 | training.compute_dtype | float16
actor_rollout_ref.actor.fsdp_config.dtype | bfloat16 | training.compute_dtype
full_finetuning | true | lora | null | r: 16
scale_rewards | true | training.scale_rewards | group
scale_rewards | false | training.scale_rewards | none
optim | adamw_hf | training.optim | adamw_torch_fused
optim | paged_adamw_8bit | training.optim | adamw_8bit
resume_from_checkpoint | null | training.resume_from_checkpoint | false
generation_kwargs | {temperature: 0.6, stop: [x]} | training.temperature | 0.6
model_init_kwargs | {dtype: bfloat16, foo: 3} | model.dtype | bfloat16
bnb_4bit_quant_type | nf4 | model.load_in_4bit | false
router_aux_loss_coef | 0.01 | training.beta | 0
curriculum | {enabled: true} | curriculum.last_k | 20
hf_upload | {enabled: true, repo_id: a/b} | hf_upload.optimizer_save_mode | full
`;

/** The defaults of TRL 1.16's GRPOConfig and transformers 5.23's TrainingArguments. */
const DEFAULTS = `
num_generations: 8, num_generations_eval: null, max_completion_length: 512, temperature: 1
top_p: 1, top_k: 0, min_p: null, repetition_penalty: 1, generation_batch_size: null
steps_per_generation: null, num_iterations: 1, beta: 0, use_bias_correction_kl: true, epsilon: 0.2
epsilon_high: null, delta: null, importance_sampling_level: token, loss_type: dapo
scale_rewards: group, multi_objective_aggregation: sum_then_normalize, entropy_coef: 0
mask_truncated_completions: false, top_entropy_quantile: 1, use_adaptive_entropy: false
entropy_coef_min: 0, entropy_coef_max: 1, entropy_coef_delta: 0.005, entropy_target: 0.2
off_policy_mask_threshold: null, sapo_temperature_neg: 1.05, sapo_temperature_pos: 1
vespo_k_pos: 2, vespo_lambda_pos: 3, vespo_k_neg: 3, vespo_lambda_neg: 2, sync_ref_model: false
ref_model_mixup_alpha: 0.6, ref_model_sync_steps: 512, disable_dropout: false
shuffle_dataset: true, vllm_importance_sampling_correction: true
vllm_importance_sampling_mode: sequence_mask, vllm_importance_sampling_clip_max: 3
vllm_importance_sampling_clip_min: null, learning_rate: 1e-6, per_device_train_batch_size: 8
per_device_eval_batch_size: 8, gradient_accumulation_steps: 1, num_train_epochs: 3, max_steps: -1
lr_scheduler_type: linear, warmup_steps: 0, optim: adamw_torch_fused, weight_decay: 0
adam_beta1: 0.9, adam_beta2: 0.999, adam_epsilon: 1e-8, max_grad_norm: 1, seed: 42
data_seed: null, gradient_checkpointing: true, logging_strategy: steps, logging_steps: 10
logging_first_step: false, logging_nan_inf_filter: true, eval_strategy: "no", eval_steps: null
eval_on_start: false, eval_delay: 0, save_strategy: steps, save_steps: 500
save_total_limit: null, save_only_model: false, load_best_model_at_end: false
metric_for_best_model: null, greater_is_better: null, push_to_hub: false, hub_model_id: null
hub_private_repo: null, hub_strategy: every_save, hub_revision: null, use_cpu: false
`;

type Document = Record<string, Json>;

/** Two documents as one. Keys that are null in the second are taken away. */
function joined(first: Document, second: Document): Document {
  const all: Document = { ...first };
  for (const [key, value] of Object.entries(second)) {
    const before = all[key];
    if (value === null && before !== undefined) delete all[key];
    else all[key] = isMap(before) && isMap(value) ? joined(before, value) : value;
  }
  return all;
}

const isMap = (value: Json | undefined): value is Document =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** A dotted key with its value as nested maps. */
const nested = (key: string, value: Json): Document =>
  key.split(".").reduceRight<Json>((inner, part) => ({ [part]: inner }), value) as Document;

/** A document that holds the key too: names at the top move into the section that the key opens. */
function withKey(base: Document, key: string, value: Json): Document {
  const [section] = key.split(".");
  const { model, task, ...rest } = base;
  const moved = key.startsWith("model.") && model !== undefined
    ? { ...rest, task: task!, model: { model_name_or_path: model } }
    : base;
  const document = section === "data" && task !== undefined
    ? joined(joined(moved, { task: null }), { data: { task_name: task } })
    : moved;
  return joined(document, value === null ? {} : nested(key, value));
}

const rows = ROWS.trim().split("\n").map((row) => row.split("|").map((cell) => cell.trim()));

Deno.test("each spelling sets its key: in a file, dotted on the command line, as a flag", async () => {
  for (const [spellings, written, path, then = "", beside = ""] of rows) {
    const value = parse(written!) as Json, expected = then === "" ? value : parse(then);
    const base = joined(parse(BASE), beside === "" ? {} : parse(beside));
    for (const key of spellings!.split(" ")) {
      const dotted = `${key}=${written}`;
      const inFile = await loadConfig(withKey(base, key, value));
      assert.deepEqual(valueAt(inFile.config, path!), expected, `${key} in a file`);
      const typed = await loadConfig(base, { overrides: [dotted] });
      assert.deepEqual(valueAt(typed.config, path!), expected, dotted);
      if (value === null || typeof value === "object") continue;
      const [flag] = parseOverrides([`--${key.replaceAll("_", "-")}`, written!]);
      const { flag: _, ...asOverride } = flag!;
      assert.deepEqual(asOverride, parseOverrides([dotted])[0], key);
    }
  }
});

Deno.test("keys of training that are not written have the defaults of TRL and transformers", async () => {
  const defaults = parse(`{${DEFAULTS.trim().replaceAll("\n", ", ")}}`) as Document;
  assert.ok(Object.keys(defaults).length > 80);
  const { config } = await loadConfig(parse(BASE));
  for (const [key, value] of Object.entries(defaults)) {
    assert.deepEqual(valueAt(config.training, key), value, key);
  }
});

Deno.test("a default may be written, flat and in its section, and changes nothing", async () => {
  const defaults = parse(`{${DEFAULTS.trim().replaceAll("\n", ", ")}}`) as Document;
  const plain = await loadConfig(parse(BASE));
  for (const before of ["", "training."]) {
    const loaded = await loadConfig(parse(BASE), { overrides: overridesOf(defaults, before) });
    assert.deepEqual(loaded.config, plain.config);
    assert.deepEqual(loaded.notes, []);
  }
});

const overridesOf = (values: Document, before: string) =>
  Object.entries(values).map(([key, value]) => `${before}${key}=${JSON.stringify(value)}`);
