/**
 * Flags of OpenRLHF's train_ppo_ray (releases 0.8 and 0.9) as keys of a section `openrlhf`.
 * `openrlhf_flags.ts` puts them there, also the newer names in groups (main of 2026-08-13), which
 * mean the same.
 */
import { table } from "../table.ts";
import type { Translation } from "../translation.ts";

const NO_KL = "KL is no part of the reward: write --use_kl_loss --kl_estimator k3, or " +
  "--init_kl_coef 0";
const K3 = "KL is estimated by k3 here: write --kl_estimator k3";

export const OPENRLHF = table(
  "OpenRLHF",
  `
[openrlhf]
pretrain = model.model_name_or_path
input_key = data.dataset_prompt_column
prompt_split = data.dataset_train_split
n_samples_per_prompt = training.num_generations
max_epochs = training.num_iterations
num_episodes = training.num_train_epochs
prompt_max_len = training.max_prompt_length
generate_max_len = training.max_completion_length
actor_learning_rate = training.learning_rate
lr_scheduler = training.lr_scheduler_type
lr_warmup_ratio = training.warmup_steps
max_norm = training.max_grad_norm
l2 = training.weight_decay
adam_eps = training.adam_epsilon
eps_clip = training.epsilon
dual_clip = training.delta
entropy_loss_coef = training.entropy_coef
temperature top_p seed gradient_checkpointing logging_steps = training.*
load_in_4bit = model.load_in_4bit
save_path = training.output_dir
max_ckpt_num = training.save_total_limit
wandb_run_name = logging.run_name
dynamic_filtering = training.dynamic_sampling
prompt_data: name? -- data.dataset_name; one set of prompts
label_key: name? -> !answer|final_answer|solution: refuse "{openrlhf.label_key}: the column of the
  right answer is named answer, final_answer or solution: rename it" -- only answer, final_answer or solution, which is the right answer's column
apply_chat_template: bool? -> true: data.prompt_format=chat; false: data.prompt_format=plain
max_samples: int>=1? -> <100000000: data.max_examples
max_len: int>=2? -- what it leaves is training.max_prompt_length
rollout_batch_size: int>=1? -- prompts of a generation
train_batch_size: int>=1? -- completions of an optimizer step
micro_train_batch_size: int>=1? -- completions of a micro-step: training.per_device_train_batch_size
advantage_estimator: one group_norm|dr_grpo|rloo|reinforce|reinforce_baseline not
  gae|flash_reinforce? -> group_norm: training.scale_rewards=group; dr_grpo:
  training.scale_rewards=none; rloo: training.advantage_estimator; reinforce:
  training.advantage_estimator=reinforce_plus_plus; reinforce_baseline:
  training.advantage_estimator=reinforce_plus_plus_baseline
init_kl_coef: number>=0? -> 0: training.beta; >0: training.beta if openrlhf.use_kl_loss &
  openrlhf.kl_estimator=k3; >0: refuse "${NO_KL}" if !openrlhf.use_kl_loss; >0: refuse "k1: ${K3}" if
  openrlhf.use_kl_loss & openrlhf.kl_estimator=null -- training.beta, with use_kl_loss
use_kl_loss: bool? -> true: training.beta=0.01 if openrlhf.init_kl_coef=null & openrlhf.kl_estimator=k3;
  true: training.use_bias_correction_kl=false if !openrlhf.init_kl_coef=0 & openrlhf.kl_estimator=k3;
  true: refuse "k1: ${K3}" if openrlhf.init_kl_coef=null & openrlhf.kl_estimator=null; false: refuse
  "${NO_KL}" if openrlhf.init_kl_coef=null -- training.beta is init_kl_coef, with kl_estimator k3
kl_estimator: one k1|k2|k3? -> !k3: refuse "{openrlhf.kl_estimator}: ${K3}" if openrlhf.use_kl_loss &
  !openrlhf.init_kl_coef=0 -- k3 with use_kl_loss
policy_loss_type: one ppo|gspo? -> ppo: training.loss_type=dapo; gspo: training.loss_type=grpo; gspo:
  training.importance_sampling_level=sequence
eps_clip_low_high: pair? -> training.epsilon, training.epsilon_high
adam_betas: pair? -> training.adam_beta1, training.adam_beta2
min_lr_ratio: number>=0<=1? -> training.lr_scheduler_kwargs.min_lr_rate if
  training.lr_scheduler_type=cosine_with_min_lr
lora_rank: int>=0? -> >0: lora.r -- lora.r; 0: all weights are trained
lora_alpha: number? -> lora.lora_alpha if openrlhf.lora_rank
lora_dropout: number? -> lora.lora_dropout if openrlhf.lora_rank
target_modules: any a list of names of modules -> all-linear: lora.target_modules=all-linear if
  openrlhf.lora_rank; !all-linear: lora.target_modules if openrlhf.lora_rank
param_dtype: one bf16|fp16? -> bf16: training.compute_dtype=bfloat16; fp16:
  training.compute_dtype=float16
bf16: bool? -> true: training.compute_dtype=bfloat16 if !openrlhf.param_dtype
save_steps: int>=-1? -> >0: training.save_steps; <=0: training.save_strategy=no
overlong_buffer_len: number>=1? -- the reward soft_overlong, with soft_punish_cache
overlong_penalty_factor: number? -- the weight of soft_overlong
use_wandb: text? -- report_to: wandb
use_tensorboard: text? -- report_to: tensorboard
wandb_project: name? -> logging.project if openrlhf.use_wandb
- ref_num_* reward_num_* actor_num_* critic_num_* colocate_* vllm_* enable_prefix_caching enforce_eager
  async_queue_size local_rank use_ds_universal_ckpt zero_stage deepcompile zpg adam_offload
  actor_init_on_gpu flash_attn attn_implementation use_liger_kernel grad_accum_dtype overlap_comm
  gradient_checkpointing_use_reentrant disable_fast_tokenizer dataloader_num_workers
  deepspeed_enable_sleep ds_tensor_parallel_size packing_samples use_dynamic_batch
  rollout_max_tokens_per_gpu train_max_tokens_per_gpu micro_rollout_batch_size ring_* full_determinism
  ref_reward_offload perf save_hf_ckpt disable_ds_ckpt max_ckpt_mem ckpt_path freeze_visual_encoder
  experts_implementation: it says how OpenRLHF spreads, stores and schedules its work
- wandb_org wandb_group: rgx writes wandb's files for wandb sync
- enable_vllm_is_correction use_icepop vllm_is_*: the policy that is trained samples by itself
! remote_rm_url agent_func_path reward_pretrain: rewards=[correctness], or a file, rewards=[{path:
  ./mine.ts}]; one of Python, {path: ./mine.py, function: name}, runs with --allow-python
! prompt_data_probs: one set of prompts is trained on: join the files into one
! input_template: apply_chat_template, and data.system_prompt
! eval_dataset: data.test_examples holds prompts out, eval_strategy=steps asks them
! eval_steps [-1]: eval_strategy=steps and training.eval_steps
! kl_target: the coefficient is the same all along
! normalize_reward [false]: scale_rewards=batch divides by the spread of a step
! reward_clip_range [[-10, 10]]: a reward's own function bounds its values
! dynamic_filtering_reward_range [[0, 1]]: groups of equal rewards are left out
! stop_properly_penalty_coef: mask_truncated_completions=true leaves them out
! async_train partial_rollout [false]: generation.max_staleness lets servers sample ahead
! load_checkpoint [false]: rgx train CONFIG --resume goes on with a run
! enable_ema [false]: the result is the trained model
! freezing_actor_steps [-1]: there is no critic to wait for
! aux_loss_coef [0]: the model's config.json says it: output_router_logits, router_aux_loss_coef
! ptx_coef [0]: rgx sft trains on examples, before
! optim ["adam"]: AdamW is the optimizer
! best_metric_key: load_best_model_at_end=true and metric_for_best_model
! use_ms [false]: models are of the Hub, or of a folder
~ critic critic_learning_rate critic_pretrain save_value_network value_clip value_head_prefix gamma
  lambd: advantage_estimator gae, which is refused
! no_advantage_std_norm [false]: reinforce and reinforce_baseline divide by the deviation
~ actor.muon kl_horizon ema_beta: optim muon, kl_target or enable_ema, which are refused
~ image_key max_images_per_prompt: images, which rgx does not read
~ eval_split eval_temperature eval_n_samples_per_prompt: eval_dataset, which is refused
`,
);

const at = (name: string) => `openrlhf.${name}`;

export function translateOpenRlhfData(keys: Translation): void {
  const data = keys.given(at("prompt_data")), name = keys.text(at("prompt_data"));
  if (data !== undefined && name !== null) {
    if (/[,@]/.test(name)) {
      keys.problems.incomplete = true;
      keys.refuse(data, `${name}: one set of prompts is trained on: join the files into one`);
    } else keys.set("data.dataset_name", name, data);
  }
  const longest = keys.number(at("max_len")), path = "training.max_prompt_length";
  const completion = keys.count("training.max_completion_length");
  if (longest === null || Number.isNaN(completion)) return;
  const left = longest.value - completion;
  if (left < 1) {
    const text = `leaves no room for a prompt beside ${completion} tokens of the completion`;
    return keys.refuse(longest.node, text);
  }
  keys.drop(path);
  keys.set(path, left, longest.node);
}

/** OpenRLHF counts the prompts of a generation and the completions of a step. */
export function translateOpenRlhfBatches(keys: Translation): void {
  const [rollout, step, micro] = ["rollout", "train", "micro_train"]
    .map((name) => keys.number(at(`${name}_batch_size`)));
  if (!rollout || !step || !micro) return;
  const size = Math.min(micro.value, step.value);
  if (step.value % size !== 0) {
    return keys.refuse(micro.node, `must divide train_batch_size, which is ${step.value}`);
  }
  const generation = rollout.value * keys.count("training.num_generations", 8);
  if (generation % step.value !== 0) {
    const text = `a generation of ${rollout.value} prompts has ${generation} completions, which ` +
      `are no whole number of steps of train_batch_size ${step.value}`;
    return keys.refuse(rollout.node, text);
  }
  keys.set("training.per_device_train_batch_size", size, micro.node);
  keys.set("training.gradient_accumulation_steps", step.value / size, step.node);
  keys.set("training.generation_batch_size", generation, rollout.node);
}

/** Adds the punishment of long completions to the rewards, once their list is complete. */
export function translateOpenRlhfRewards(keys: Translation): void {
  const buffer = keys.number(at("overlong_buffer_len"));
  if (buffer) keys.addOverlong(buffer.value, at("overlong_penalty_factor"), buffer.node);
}
