/**
 * Keys of verl (main of 2026-08-22 and its releases since 0.2): all of its complete trainer
 * configuration, `ppo_trainer.yaml` with every section of every engine. Each key is in one list.
 * `tests/golden/verl_keys.json` has all names; a test compares them.
 */
import type { MapEntry } from "../../documents/node.ts";
import { table } from "../table.ts";
import { ADAPTER_FORMS } from "../transformers.ts";

const A = "actor_rollout_ref.actor", R = "actor_rollout_ref.ref", O = "actor_rollout_ref.rollout";
const M = "actor_rollout_ref.model", T = `${O}.multi_turn.enable`;
const PLACE = "it says how verl does its work";
const FUNCTIONS = "rewards are functions: rewards: [{name, weight}], or [{path}] for a file of JS";
const CONFIG_JSON = "the model is the one of its config.json";
const ONE_TURN = "rgx has environment, tools and multi_turn for dialogues: docs/environments.md";
const ROUTERS =
  "training computes the choices of routers again, and adapters leave routers as they are";

/** Megatron's joined modules → the modules of the files. Other names stay as they are. */
export const MEGATRON_MODULES: Readonly<Record<string, readonly string[]>> = {
  linear_qkv: ["q_proj", "k_proj", "v_proj"],
  linear_proj: ["o_proj"],
  linear_fc1: ["gate_proj", "up_proj"],
  linear_fc2: ["down_proj"],
};

const VANILLA = `${A}.policy_loss.loss_mode=vanilla|null`;

const S = "training.lr_scheduler_type", LEAST = `${A}.optim.min_lr_ratio>0`;
/** Megatron's name of the schedule acts where the other one is not written. */
const ALONE = `${A}.optim.lr_scheduler_type=null`;

const KEYS = `
[actor_rollout_ref.model]
path = model.model_name_or_path
override_config.rope_scaling override_config.rope_parameters = model.rope_scaling
tokenizer_path = model.tokenizer_name_or_path
custom_chat_template = model.chat_template
enable_gradient_checkpointing = training.gradient_checkpointing
lora_rank: int>=0? -> >0: lora.r; >0: fill lora.lora_alpha=16; >0: fill lora.target_modules=all-linear
lora_alpha: number>0? -> lora.lora_alpha if ${M}.lora_rank
target_modules: any all-linear, a list, or an expression -> all_linear:
  lora.target_modules=all-linear if ${M}.lora_rank; !all_linear: lora.target_modules if ${M}.lora_rank
exclude_modules: any a list or an expression -> lora.exclude_modules if ${M}.lora_rank
- override_config.attn_implementation lora.dtype: ${PLACE}
! mtp.enable [false]: a token is predicted from the head alone
! external_lib: no code of a model is run
! hf_config_path override_config override_config.model_config: ${CONFIG_JSON}
! override_config.attention_dropout override_config.embd_pdrop override_config.resid_pdrop [0]: only
  adapters have dropout: lora_dropout
! override_config.moe_config.freeze_moe_router [false]: ${ROUTERS}
! lora_adapter_path lora.adapter_path: name the adapter's folder in model_name_or_path
lora.rank: int>=0? -> >0: lora.r; >0: fill lora.lora_alpha=32; >0: fill lora.lora_dropout=0; >0: fill
  lora.target_modules=${
  JSON.stringify(Object.values(MEGATRON_MODULES).flat())
} if ${M}.lora.target_modules=null
lora.alpha: number>=0? -> lora.lora_alpha if ${M}.lora.rank
lora.dropout: number>=0? -> lora.lora_dropout if ${M}.lora.rank
lora.target_modules: any a list of linear_qkv, linear_proj, linear_fc1, linear_fc2 -- lora.target_modules,
  the same modules by their names in the file, with lora.rank
! lora.type ["lora"]: ${ADAPTER_FORMS}
! lora.exclude_modules: lora.exclude_modules
! lora.dropout_position ["pre"]: dropout acts on what A reads
! lora.lora_A_init_method lora.lora_B_init_method ["xavier", "kaiming", "zero"]: lora.init_lora_weights
[${A}.optim]
lr = training.learning_rate
weight_decay = training.weight_decay
clip_grad = training.max_grad_norm
eps = training.adam_epsilon
optimizer: one AdamW|AdamW8bit|PagedAdamW8bit not SGD|Adam|muon|Muon|PagedAdamW
  same adamw=AdamW|adam=AdamW? -> AdamW8bit|PagedAdamW8bit: training.optim=adamw_8bit -- optim;
  AdamW8bit is adamw_8bit
betas: pair? -> training.adam_beta1, training.adam_beta2
lr_scheduler_type warmup_style: one constant|cosine? -> constant: ${S}=constant_with_warmup;
  cosine: ${S} if !${LEAST}; cosine: ${S}=cosine_with_min_lr if ${LEAST}
lr_decay_style: one constant|cosine|linear? -> constant: ${S}=constant_with_warmup if ${ALONE}; linear:
  ${S} if ${ALONE}; cosine: ${S} if ${ALONE} & !${LEAST}; cosine: ${S}=cosine_with_min_lr if ${ALONE} & ${LEAST}
lr_warmup_steps: int>=-1? -> >0: training.warmup_steps
lr_warmup_steps_ratio: number>=0<1? -> training.warmup_steps if !${A}.optim.lr_warmup_steps>0
min_lr_ratio: number>=0? -> >0: training.lr_scheduler_kwargs.min_lr_rate if
  training.lr_scheduler_type=cosine_with_min_lr
- override_optimizer_config.optimizer_* override_optimizer_config.offload_*
  override_optimizer_config.overlap_* override_optimizer_config.use_* use_precision_aware_optimizer
  main_grads_dtype exp_avg_dtype exp_avg_sq_dtype use_layer_wise_distributed_optimizer: ${PLACE}
! name optimizer_impl ["AdamW", "torch.optim", "bitsandbytes.optim"]: AdamW is the optimizer: optim
! override_optimizer_config: weight_decay, betas and eps have keys
! num_cycles [0.5]: lr_scheduler_kwargs: {num_cycles}
! zero_indexed_step [true]: the first step has index 0
! lr_warmup_init lr_start [0]: a warm-up begins at 0
! lr_decay_steps lr_decay_ratio [1]: a schedule ends with the last step
! lr_wsd_decay_steps: lr_scheduler_type: warmup_stable_decay has parameters of its own
! min_lr lr_min min_lr_factor [0]: lr_scheduler_kwargs: {min_lr}, or {min_lr_rate}
! decay_type ["linear"]: lr_scheduler_type
! weight_decay_incr_style ["constant"]: training.weight_decay is constant
! use_checkpoint_opt_param_scheduler [false]: resume from a checkpoint of rgx
[${A}]
ppo_epochs = training.num_iterations
use_rollout_log_probs = training.use_rollout_log_probs
entropy_coeff = training.entropy_coef
grad_clip = training.max_grad_norm
fsdp_config.dtype = training.compute_dtype
clip_ratio: number>=0? -> training.epsilon if ${A}.clip_ratio_low=null; training.epsilon_high if
  !${A}.clip_ratio_low=null & ${A}.clip_ratio_high=null
clip_ratio_low: number>=0? -> training.epsilon
clip_ratio_high: number>=0? -> training.epsilon_high
clip_ratio_c: number>1? -> training.delta if ${VANILLA}
loss_agg_mode: one token-mean|seq-mean-token-mean|seq-mean-token-sum-norm not seq-mean-token-sum?
  -> token-mean: training.loss_type=dapo if ${VANILLA}; seq-mean-token-mean: training.loss_type=grpo if
  ${VANILLA}; seq-mean-token-sum-norm: training.loss_type=dr_grpo if ${VANILLA}; !seq-mean-token-mean:
  note "loss_mode {${A}.policy_loss.loss_mode} takes seq-mean-token-mean, in verl too" if !${VANILLA}
! loss_scale_factor: dr_grpo divides by the longest completion, as it does with null
use_kl_loss: bool? -> false: training.beta=0; true: training.beta=0.001 if ${A}.kl_loss_coef=null;
  true: training.use_bias_correction_kl=false if ${A}.kl_loss_type=null
kl_loss_coef: number>=0? -> training.beta if ${A}.use_kl_loss; >0: note "has no effect while use_kl_loss
  is not true, in verl too" if ${A}.use_kl_loss=null
kl_loss_type: one low_var_kl|k3 not kl|k1|abs|mse|k2|full|k3+|low_var_kl+|k1+|kl+? ->
  training.use_bias_correction_kl=false if ${A}.use_kl_loss
policy_loss.loss_mode: one vanilla|gspo|sapo
  not cispo|gpg|clip_cov|kl_cov|geo_mean|dro|dppo_tv|dppo_kl? -> gspo: training.importance_sampling_level=sequence; gspo:
  training.loss_type=grpo; sapo: training.loss_type -- gspo is importance_sampling_level
  sequence with loss_type grpo, sapo is loss_type sapo; of cispo write loss_type: cispo with
  epsilon_high 1 + clip_ratio_high, as it has no lower bound
tau_pos policy_loss.tau_pos: number>=0? -> training.sapo_temperature_pos if
  ${A}.policy_loss.loss_mode=sapo
tau_neg policy_loss.tau_neg: number>=0? -> training.sapo_temperature_neg if
  ${A}.policy_loss.loss_mode=sapo
! shuffle [false]: mini-batches are cut in the order of the prompts
ppo_mini_batch_size: int>=1? -- prompts of an optimizer step, with num_generations completions each
ppo_micro_batch_size_per_gpu ppo_micro_batch_size: int>=1? -- per_device_train_batch_size, or less
use_dynamic_bsz: bool? -- a micro-step has what fits in ppo_max_token_len_per_gpu
ppo_max_token_len_per_gpu: int>=1? -- tokens at once, with use_dynamic_bsz
checkpoint.save_contents checkpoint.contents: any a list -- without optimizer save_only_model
[${A}, ${R}]
rollout_n: int>=1? -> training.num_generations
! megatron.override_transformer_config megatron.override_mcore_model_config: ${CONFIG_JSON}
! megatron.dist_checkpointing_path veomni.load_checkpoint_path: weights are read from
  actor_rollout_ref.model.path
! router_replay.mode megatron.router_replay.mode veomni.router_replay.mode ["disabled"]: ${ROUTERS}
! fsdp_config.qat.enable megatron.qat.enable qat.enable [false]: model.load_in_4bit quantises frozen weights
[${A}.megatron.override_transformer_config, ${R}.megatron.override_transformer_config]
- recompute_* attention_backend apply_rope_fusion gradient_accumulation_fusion masked_softmax_fusion
  bias_* deallocate_* persist_layer_norm use_flash_attn sequence_parallel context_parallel_size
  use_distributed_optimizer num_layers_in_* account_for_* moe_router_dtype moe_grouped_gemm
  moe_permute_fusion moe_enable_deepep moe_token_dispatcher_type moe_shared_expert_overlap: ${PLACE}
[${R}]
! model: the reference is the model before training
[${O}]
n = training.num_generations
temperature top_p top_k min_p repetition_penalty stop = training.*
seed = training.generation_seed
prompt_length: int>=1? -> training.max_prompt_length
response_length: int>=1? -> training.max_completion_length
val_kwargs.temperature: number>=0? -> eval.temperature if !${O}.val_kwargs.do_sample=false
val_kwargs.do_sample: bool? -> false: eval.temperature=0
val_kwargs.n: int>=1? -> training.num_generations_eval
val_kwargs.top_p: number? -- must be top_p, where it samples
val_kwargs.top_k: int? -- must be top_k, where it samples
! do_sample [true]: completions of one prompt must differ to be compared; set temperature
! ignore_eos [false]: a completion ends with the end token
! use_fire_sampling [false]: the first token is sampled like the others
! over_sample_rate [0]: training.dynamic_sampling draws new prompts
! skip_rollout skip.enable [false]: completions are generated by rgx itself
! quantization: model.load_in_4bit or load_in_8bit quantises frozen weights
! enable_rollout_routing_replay [false]: ${ROUTERS}
! agent.default_agent_loop ["single_turn_agent"]: ${ONE_TURN}
! agent.agent_loop_config_path: ${ONE_TURN}
! agent.custom_async_server.path agent.agent_loop_manager_class: completions are generated by rgx
  itself
multi_turn.enable: bool? -> true: fill multi_turn.max_parallel_calls=1; true: fill
  multi_turn.max_tool_response_length=256; true: refuse "dialogues need an environment or tools:
  environment: {path: F.ts}, or tools: [F.ts] (docs/environments.md)" if !environment & !environments & !tools
multi_turn.max_assistant_turns: int>=1? -> multi_turn.max_assistant_turns if ${T}
multi_turn.max_user_turns: int>=0? -> multi_turn.max_user_turns if ${T}
multi_turn.max_parallel_calls: int>=1? -> multi_turn.max_parallel_calls if ${T}
multi_turn.max_tool_response_length: int>=1? -> multi_turn.max_tool_response_length if ${T}
multi_turn.tool_response_truncate_side: one left|middle|right? ->
  multi_turn.tool_response_truncate_side if ${T}
multi_turn.format: one hermes|qwen3_coder|gpt-oss|gemma4|glm not seed|minimax|kimi|deepseek_v4? ->
  hermes: multi_turn.format=hermes if ${T}; qwen3_coder: multi_turn.format=qwen3_xml if ${T};
  gpt-oss: multi_turn.format=openai if ${T}; gemma4: multi_turn.format=gemma4 if ${T};
  glm: multi_turn.format=glm45 if ${T}
! multi_turn.num_repeat_rollouts: training.num_generations is the number of dialogues of a prompt
! multi_turn.tool_config_path multi_turn.function_tool_path: a tool is a file, tools: [F.ts]
  (rgx env new F.ts --tools writes one), or a server of MCP, tools: [{mcp: {command: [python3, F.py]}}]
! multi_turn.interaction_config_path: verl has removed its interactions (April 2026); an environment
  is a file, environment: {path: F.ts}, or a program, environment: {command: [python3, F.py]}
! multi_turn.completion_callback: an environment is a program, environment: {command: [python3, F.py]}
  (rgx env new F.py --python writes one), or a file, environment: {path: F.ts}
[data]
tokenizer = model.tokenizer_name_or_path
max_prompt_length = training.max_prompt_length
max_response_length = training.max_completion_length
shuffle = training.shuffle_dataset
apply_chat_template_kwargs = training.chat_template_kwargs
train_files: any a file, or a list with one file -- data.dataset_name, where no task is named
val_files: any a file, or a list with one file -- data.eval_dataset_name, for an evaluation
train_max_samples: int>=-1? -> >0: data.max_examples -- data.max_examples; −1: all
val_max_samples: int>=-1? -- eval.num_examples; −1: all of val_files
train_batch_size: int>=1? -- prompts of a generation; × num_generations is generation_batch_size
val_batch_size: int>=1? -> eval.batch_size
truncation: one error|left not right|middle? -> left: training.truncate_prompts
filter_overlong_prompts: bool? -> true: note "prompts that are too long are not left out: they end
  the run before its first step, with their number"
- use_shm dataloader_num_workers filter_overlong_prompts_workers return_raw_input_ids
  return_raw_chat return_full_prompt return_multi_modal_inputs reward_fn_key validation_shuffle:
  ${PLACE}
- trust_remote_code: no code of a model is run
- gen_batch_size: dynamic_sampling draws as many prompts as a generation still needs
~ image_key video_key audio_key image_patch_size mm_processor_kwargs: images, which are refused
~ custom_cls.name sampler.class_name datagen.name continuous_token.model_family: the key beside it,
  which is refused
! prompt_key ["prompt", "messages", "question"]: the columns are prompt, messages, or question and answer
! custom_cls.path datagen.path: no code of a data set is run
! sampler.class_path: training.shuffle_dataset
! continuous_token.enable [false]: ${ONE_TURN}
! tool_config_path function_tool_path: ${ONE_TURN}
[algorithm]
norm_adv_by_std_in_grpo = training.scale_rewards
filter_groups.enable = training.dynamic_sampling
filter_groups.max_num_gen_batches: int>=0? -> 0: training.dynamic_sampling_max_batches=1000000; >0:
  training.dynamic_sampling_max_batches
filter_groups.metric: text? -- any where there is one reward, else seq_final_reward
adv_estimator: one
  grpo|grpo_vectorized|rloo|rloo_vectorized|reinforce_plus_plus|reinforce_plus_plus_baseline|remax|opo|maxrl
  not gae|gdpo|grpo_passk|gpg|optimal_token_baseline|tir_optimal_token_baseline? ->
  rloo_vectorized: training.advantage_estimator=rloo;
  rloo|reinforce_plus_plus|reinforce_plus_plus_baseline|remax|opo|maxrl:
  training.advantage_estimator -- training.advantage_estimator; of gdpo write
  multi_objective_aggregation: normalize_then_sum
? gamma [1, 1.0]: a reward counts for all tokens of its completion
! use_kl_in_reward [false]: the KL term is part of the loss: beta
! use_pf_ppo [false]: every group is trained on; training.dynamic_sampling
! rollout_correction.loss_type ["ppo_clip"]: the loss is clipped: loss_type
! rollout_correction.use_policy_gradient [false]: the loss is clipped: loss_type
[trainer]
default_local_dir = training.output_dir
total_epochs = training.num_train_epochs
experiment_name = logging.run_name
project_name = logging.project
max_actor_ckpt_to_keep max_ckpt_to_keep = training.save_total_limit
nnodes: int>=1? -> training.nnodes; fill slurm.nodes
n_gpus_per_node: int>=1? -> training.n_gpus_per_node; fill slurm.gpus
total_training_steps: int>=-1? -> >0: training.max_steps
save_freq: int>=-1? -> >0: training.save_steps; <=0: training.save_strategy=no
test_freq: int>=-1? -- eval_steps, with eval_strategy steps; −1 or 0: never
val_before_train: bool -- eval_on_start
logger: any a name or a list of names -- report_to, where that is not written
resume_mode: one auto|disable|resume_path? -> auto: training.resume_from_checkpoint=true; disable:
  training.resume_from_checkpoint=false; resume_path: refuse "resume_path needs resume_from_path" if
  trainer.resume_from_path=null|false
resume_from_path: any a path, null or false -> training.resume_from_checkpoint if
  trainer.resume_mode=resume_path; !false: note "has no effect without resume_mode resume_path, in verl
  too" if trainer.resume_mode=auto|disable
! v1.trainer_mode ["sync"]: rgx generates and trains in turns
! v1.sampler.custom_sampler.path: training.shuffle_dataset
! critic_warmup [0]: every step trains the model
! val_only [false]: rgx bench CONFIG measures without training
! default_hdfs_dir: a run writes to one folder: training.output_dir
! del_local_ckpt_after_load remove_previous_ckpt_in_save [false]: training.save_total_limit says what
  is kept
[]
- actor_rollout_ref.* algorithm.* trainer.* global_profiler.* ray_init.* ray_kwargs.*
  transfer_queue.* verbose: ${PLACE}
- hydra: it steers Hydra itself
! actor_rollout_ref.hybrid_engine [true]: one process trains and generates
~ skip.*: skip.*.enable, which is refused
! skip.rollout.enable skip.rollout_tq.enable skip.async_rollout.enable [false]: each completion is
  generated anew
- critic.*: a critic; GRPO has none
! critic.enable [false]: GRPO has no critic
~ distillation.* distillation.distillation_loss.topk: distillation.enabled, which is refused
! distillation.enabled [false]: rewards are functions, there is no teacher
[, reward]
custom_reward_function.path: any a path or null -- the reward; Python runs with --allow-python
custom_reward_function.name: any a name or null -- its function (compute_score)
custom_reward_function.reward_kwargs: any a map or null -- its parameters
[, reward, reward_model]
! sandbox_fusion.url: rgx serves no sandbox to rewards; rewards: [{path}]
~ sandbox_fusion.max_concurrent sandbox_fusion.memory_limit_mb: sandbox_fusion.url, which is refused
[reward.reward_kwargs.overlong_buffer_cfg, reward_model.reward_kwargs.overlong_buffer_cfg,
  reward_model.overlong_buffer]
enable: bool? -- adds the reward soft_overlong
len: int>=1? -- soft_overlong's soft_punish_cache
penalty_factor: number? -- soft_overlong's weight (1)
- log: each reward is logged
[reward, reward_model]
reward_kwargs.max_resp_len: int>=1? -- soft_overlong's max_completion_len (max_response_length)
[reward]
- num_workers: ${PLACE}
~ reward_model.*: a reward model, which is refused
~ reward_manager.module.name: reward_manager.module.path, which is refused
! reward_model.enable reward_manager.source reward_manager.name reward_manager.module.path [false,
  "register", "naive", "dapo"]: ${FUNCTIONS}
[reward_model]
- num_workers launch_reward_fn_async: ${PLACE}
~ reward_loop_class_name: reward_loop_module_path, which is refused
~ *: a reward model, which is refused
! enable reward_manager reward_manager.name reward_loop_source reward_loop_module_path [false,
  "register", "naive", "dapo"]: ${FUNCTIONS}
`;

export const VERL = table("verl", KEYS);

/** The critic's name of a key of the actor or the model: names are the same in both. */
export function asOfCritic(name: string): string {
  return name.replace(/^actor_rollout_ref\.(actor\.|(?=model\.))/, "critic.");
}

/** Whether a document is written for verl. */
export function isOfVerl(entries: ReadonlyMap<string, MapEntry>): boolean {
  return entries.has("actor_rollout_ref");
}
