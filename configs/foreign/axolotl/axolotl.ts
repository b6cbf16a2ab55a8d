/**
 * Keys of Axolotl (main of 2026-07-24) in a configuration with `rl: grpo`. They stand at the top of
 * its files and in the sections `trl` and `vllm`. `configs/reading/axolotl_names.ts` knows such a
 * file. `tests/golden/axolotl_keys.json` has all names; a test compares them.
 */
import { type ForeignTable, table } from "../table.ts";
import { ADAPTER_FORMS } from "../transformers.ts";
import { toJson } from "../../documents/node.ts";
import { NO_EFFECT, NOT_YET, type Translation } from "../translation.ts";

const DEFAULTS = "what is not written has Axolotl's defaults: gradient_accumulation_steps 1, " +
  "num_epochs 1, lr_scheduler cosine, warmup_ratio 0.03, saves_per_epoch 1, save_total_limit 4";
/** Completions are sampled on the server whose address is written, here or in `vllm`. */
const SERVED = "training.use_vllm & training.vllm_server";
const MODE = "training.vllm_mode=server if training.use_vllm & training.vllm_mode=null";
const PLACE = "it says how Axolotl spreads and stores its work";
const SERVER = "the server says it for itself";

export const AXOLOTL_AS_WRITTEN = table(
  "Axolotl",
  `
[]
base_model = model.model_name_or_path
tokenizer_config = model.tokenizer_name_or_path
chat_template_jinja = model.chat_template
lora_model_dir = model.adapter_name_or_path
peft_layers_to_transform = lora.layers_to_transform
peft_use_rslora = lora.use_rslora
peft_use_dora = lora.use_dora
peft_trainable_token_indices = lora.trainable_token_indices
peft_init_lora_weights = lora.init_lora_weights
lora_rank_pattern = lora.rank_pattern
lora_alpha_pattern = lora.alpha_pattern
micro_batch_size = training.per_device_train_batch_size
eval_batch_size = training.per_device_eval_batch_size
optimizer = training.optim
lr_scheduler = training.lr_scheduler_type
wandb_name = logging.run_name
axolotl.base_model: name? -> refuse "without rl: grpo, Axolotl trains supervised; of its files rgx
  reads those of GRPO, and rgx sft has a section sft (docs/training.md)" if axolotl.rl=null;
  note "${DEFAULTS}"; fill training.per_device_train_batch_size=1;
  fill training.gradient_accumulation_steps=1; fill training.num_train_epochs=1;
  fill training.lr_scheduler_type=cosine; fill training.warmup_steps=0.03;
  fill training.save_total_limit=4; fill training.save_strategy=steps if training.save_steps;
  fill training.save_strategy=epoch if axolotl.saves_per_epoch=null;
  fill training.push_to_hub=true if training.hub_model_id;
  fill training.hub_private_repo=true if training.hub_model_id;
  training.vllm_mode=server if ${SERVED}_host & training.vllm_mode=null;
  lora.enabled=false if lora & axolotl.adapter=null; note "without adapter: lora, all weights are
  trained" if lora & axolotl.adapter=null -- the file is one of Axolotl, also where another model is typed
axolotl.adapter /adapter: one lora|qlora not llama-adapter? -> lora|qlora: lora.enabled=true; qlora:
  model.load_in_4bit=true
axolotl.lora_target_linear /lora_target_linear: bool? -> override lora.target_modules=all-linear if
  axolotl.lora_target_linear
axolotl.chat_template: name? -> !tokenizer_default|jinja: refuse "{axolotl.chat_template}: Axolotl's
  own templates are not in rgx: tokenizer_default takes the model's, chat_template_jinja has a text or
  a file" -- tokenizer_default, or jinja with chat_template_jinja
- axolotl.special_tokens.pad_token: padding is left out of everything
axolotl.plugins /plugins: any a list of plugins -- only those of liger, cut_cross_entropy and kernels,
  which have no effect: rgx runs no Python
axolotl.datasets: any a list of data sets -- dataset_name, dataset_config and dataset_train_split
axolotl.val_set_size /val_set_size: number>=0? -> >=1: data.test_examples -- below 1 what
  data.train_ratio leaves, else data.test_examples
axolotl.cosine_min_lr_ratio /cosine_min_lr_ratio: number>=0<=1? -- lr_scheduler_type:
  cosine_with_min_lr, with lr_scheduler_kwargs: {min_lr_rate}
axolotl.saves_per_epoch /saves_per_epoch: int>=1? -- training.save_steps, as a share of all steps
axolotl.evals_per_epoch /evals_per_epoch: int>=1? -- training.eval_steps, as a share of all steps
axolotl.rl /rl: one grpo|gdpo not dpo|ipo|orpo|kto|simpo|bco|ebft|dpo_positive? -> gdpo:
  training.multi_objective_aggregation=normalize_then_sum
- dataset_prepared_path dataset_shard_num num_dataset_shards_to_save skip_prepare_dataset
  dataset_processes dataset_keep_in_memory hf_use_auth_token is_preprocess preprocess_* total_*
  sample_packing_eff_est axolotl_config_path shuffle_before_merging_datasets: data is read when the
  run begins
- sequence_len eval_sequence_len min_sample_len excess_length_strategy max_prompt_len: with rl: grpo
  lengths cut nothing in Axolotl either; max_prompt_length is the longest prompt
- strict low_cpu_mem_usage device device_map max_memory gpu_memory_limit experimental_*
  embeddings_skip_upcast use_kernels tokenizer_* type_of_model base_model_* lora_fan_in_fan_out
  lora_on_cpu qlora_* peft_autocast_adapter_dtype merge_* lora_mlp_kernel lora_qkv_kernel
  lora_o_kernel lora_embedding_kernel is_* experts_implementation quantization xformers_* sdp_attention flex_*
  flash_* sage_* eager_* gemma4_* large_head_attention sdpa_varlen fused_attn_kernel: it says how Axolotl loads, stores and computes
- ddp world_size gc_* selective_checkpointing layer_offloading tiled_* deepcompile
  torch_compile_options torchdistx_path profiler_* include_tkps fsdp_* heads_k_stride ring_* use_ray
  ray_* resources_per_worker liger_* cut_cross_entropy fp32_* dynamic_checkpoint gradio_*: ${PLACE}
- wandb_* mlflow_* hf_mlflow_log_artifacts trackio_* use_otel_metrics otel_*: report_to names the
  trackers; their files are uploaded by their own programs
! test_datasets: val_set_size holds problems out
! dataset_shard_idx: max_examples takes the first rows of a file
! dataset_exact_deduplication [false]: take repeated rows out of the file
! shuffle_merged_datasets [true]: shuffle_dataset: false keeps the order
! pretraining_dataset: rgx trains with GRPO (rgx train), and supervised (rgx sft)
! push_dataset_to_hub: data is not uploaded
! default_system_message: data.system_prompt
! streaming [false]: a data set is read whole; data.max_examples
! curriculum_sampling [false]: shuffle_dataset: false keeps the order
! batch_size: micro_batch_size and gradient_accumulation_steps
! reward_model process_reward_model [false]: rewards are functions: rewards: [{name, weight}]
! reinit_weights resize_token_embeddings_to_32x mean_resizing_embeddings shrink_embeddings
  scaling_softmax s2_attention use_onebitllms gptq quantize_moe_experts llama4_linearized_experts
  tokenizer_use_mistral_common fix_untrained_tokens cls_model_config overrides_of_*
  model_quantization_* bnb_config_kwargs processor_* image_* role_boundaries [false]:
  the model is the one of its folder
! revision_of_model ["main"]: name the folder of the model
! tokens added_tokens_overrides eot_tokens axolotl.special_tokens.*: the tokens are those of the tokenizer's folder
! peft_ensure_weight_tying relora peft peft_layer_replication loraplus_lr_ratio loraplus_lr_embedding
  [false]: ${ADAPTER_FORMS}
! peft_layers_pattern: lora.layers_to_transform counts the layers of the model
! qat: model.load_in_4bit quantises frozen weights
! unfrozen_parameters: an adapter, or all weights, are trained
! freeze_mm_modules [false]: models read text alone
? dp_shard_size dp_replicate_size tensor_parallel_size sequence_parallel_degree
  context_parallel_size [1]: the model is not divided over cards; rgx train CONFIG --ranks N deals
  the work to several
! fp8 bfloat16 float16 float32 [false]: bf16: true computes products in bfloat16; model.dtype is the
  type of weights
! auto_resume_from_checkpoints [false]: rgx train CONFIG --resume goes on with a run
! save_first_step [false]: save_steps
! early_stopping_patience: load_best_model_at_end: true takes the best checkpoint
! loss_watchdog_threshold: the loss of GRPO does not say that a run has failed
? do_bench_eval [false]: rgx bench asks a model after its training
! trainer_cls: rgx has the one trainer
? use_comet [false]: report_to: tensorboard, trackio, wandb or mlflow
! embedding_lr embedding_lr_scale lr_groups lr_quadratic_warmup cosine_constant_lr_ratio
  lr_div_factor adam_epsilon2 adam_beta3 lisa_n_layers jagged_restart_steps [false, []]: AdamW is the
  optimizer, with one learning rate
~ train_on_inputs sample_packing eval_sample_packing pad_to_sequence_len multipack_real_batches
  batch_flattening use_pose pretraining_sample_concatenation streaming_multipack_buffer_size
  max_packed_sequence_len use_eaft noisy_embedding_alpha do_causal_lm_eval eval_causal_lm_metrics
  eval_table_size eval_max_new_tokens generate_samples num_generation_samples
  liger_use_token_scaling: supervised training, without rl
~ precompute_ref_log_probs rpo_alpha orpo_alpha simpo_gamma cpo_alpha rl_beta
  center_rewards_coefficient num_labels ebft: other values of rl
- sample_packing_* pose_* pretrain_* eaft_* generation_* chunked_* dpo_* kto_*: other values of rl
- scaling_softmax_* relora_* fp8_* loss_watchdog_patience bench_* lisa_* jagged_restart_* comet_*
  dion_* qgalore_*: it acts with a key that is refused or has no effect
[trl]
beta max_completion_length generation_batch_size num_generations log_completions
  num_completions_to_print importance_sampling_level sync_ref_model ref_model_mixup_alpha
  ref_model_sync_steps scale_rewards temperature top_p top_k min_p repetition_penalty
  chat_template_kwargs num_iterations epsilon epsilon_high loss_type mask_truncated_completions
  multi_objective_aggregation off_policy_mask_threshold use_bias_correction_kl
  vllm_importance_sampling_correction vllm_importance_sampling_mode reward_weights use_vllm vllm_mode
  vllm_server_host vllm_server_port vllm_server_timeout = training.*
vllm_importance_sampling_cap = training.vllm_importance_sampling_clip_max
reward_funcs = rewards
- use_liger_loss reward_num_workers streaming_partial_batch streaming_min_groups: it says how Axolotl
  spreads its work
- vllm_guided_decoding_regex vllm_enable_sleep_mode: ${SERVER}
- vllm_lora_sync: adapters are sent to a server after each step
- skip_zero_advantage_batches: advantages of 0 have no gradient but that of beta
! rollout_func: completions are generated by rgx itself
! use_data_producer async_prefetch [false]: generation.max_staleness lets a server generate ahead
! vllm_sync_interval [1]: a server has the newest weights at each step
! replay_buffer_size [0]: completions are trained on once
! reroll_start_fraction [1]: dynamic_sampling draws other prompts for such groups
~ prefetch_depth replay_recompute_logps reroll_max_groups: keys of trl that are refused
[vllm]
host: name? -> training.vllm_server_host if ${SERVED}_host=null; ${MODE}
port: int>=1<=65535? -> training.vllm_server_port if ${SERVED}_port=null; ${MODE}
- device tensor_parallel_size data_parallel_size gpu_memory_utilization dtype max_model_len
  enable_prefix_caching enable_reasoning reasoning_parser enforce_eager serve_module
  worker_extension_cls: ${SERVER}
`,
);

/**
 * The keys as they stand in the tree. Keys that rgx does not obey are in a section `axolotl`. So
 * they are known in files of Axolotl only, and in other files a typo is still found.
 */
export const AXOLOTL: ForeignTable = {
  ...AXOLOTL_AS_WRITTEN,
  listed: Object.fromEntries(
    Object.entries(AXOLOTL_AS_WRITTEN.listed).map(
      ([name, key]) => [name.includes(".") ? name : `axolotl.${name}`, key],
    ),
  ),
};

export function translateAxolotl(keys: Translation): void {
  translatePlugins(keys);
  translateIntervals(keys);
}

/** `…_per_epoch` as a share of all steps, as in Axolotl. */
function translateIntervals(keys: Translation): void {
  const epochs = keys.count("training.num_train_epochs", 1);
  const size = keys.number("axolotl.val_set_size"), hasSplit = size !== null && size.value > 0;
  // A value below 1 is a share of the problems; other values are a number of problems.
  if (hasSplit && size.value < 1) keys.set("data.train_ratio", 1 - size.value, size.node);
  for (const what of ["save", "eval"]) {
    const path = `axolotl.${what}s_per_epoch`, times = keys.number(path);
    if (times === null || times.value < 1) continue;
    if (what === "eval" && !hasSplit) {
      keys.note(times.node, `${NO_EFFECT}: val_set_size holds no problems out`, path);
      continue;
    }
    const share = 1 / (times.value * epochs);
    keys.set(`training.${what}_strategy`, share < 1 ? "steps" : "epoch", times.node);
    if (share < 1) keys.set(`training.${what}_steps`, share, times.node);
  }
  const least = keys.number("axolotl.cosine_min_lr_ratio");
  if (least === null) return;
  const text = `${NO_EFFECT}: it acts with lr_scheduler: cosine alone`;
  if (keys.text("training.lr_scheduler_type") !== "cosine") return keys.note(least.node, text);
  keys.drop("training.lr_scheduler_type");
  keys.set("training.lr_scheduler_type", "cosine_with_min_lr", least.node);
  keys.set("training.lr_scheduler_kwargs", { min_lr_rate: least.value }, least.node);
}

/** Plugins that are known to change no result. */
function translatePlugins(keys: Translation): void {
  const path = "axolotl.plugins", plugins = keys.given(path);
  const names = plugins === undefined ? [] : [toJson(plugins)].flat();
  if (plugins === undefined || names.length === 0) return;
  const text = "rgx runs no Python; liger, cut_cross_entropy and kernels are accepted";
  if (names.every((name) => /\.(liger|cut_cross_entropy|kernels)\./.test(String(name)))) {
    keys.note(plugins, `${NO_EFFECT}; ${text}`, "plugins");
  } else keys.refuse(plugins, `${NOT_YET}; ${text}`, "plugins");
}
