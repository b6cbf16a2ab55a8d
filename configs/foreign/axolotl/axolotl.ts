/**
 * Keys of Axolotl (main of 2026-07-24) in a configuration with `rl: grpo`. They stand at the top of
 * its files and in the sections `trl` and `vllm`. `configs/reading/axolotl_names.ts` knows such a
 * file. `tests/golden/axolotl_keys.json` has all names; a test compares them.
 */
import { type ForeignTable, table } from "../table.ts";
import { ADAPTER_FORMS } from "../transformers.ts";
import { type ConfigNode, isNull, type Json, toJson } from "../../documents/node.ts";
import { NO_EFFECT, NOT_YET, type Translation } from "../translation.ts";

const PLACE = "it says how Axolotl spreads and stores its work";
const LOADING = "it says how Axolotl loads, stores and computes";
const FROM_FOLDER = "the model is the one of its folder";
const SERVER = "the server says it for itself";
const IN_TURNS = "generation.max_staleness lets a server generate ahead";
const REWARDS = "rewards are functions: rewards: [{name, weight}]";

/** The names in `trl` that are TRL's own, as keys of rgx. */
const SAME = ("beta max_completion_length generation_batch_size num_generations log_completions " +
  "num_completions_to_print importance_sampling_level sync_ref_model ref_model_mixup_alpha " +
  "ref_model_sync_steps scale_rewards temperature top_p top_k min_p repetition_penalty " +
  "chat_template_kwargs num_iterations epsilon epsilon_high loss_type " +
  "mask_truncated_completions multi_objective_aggregation off_policy_mask_threshold " +
  "use_bias_correction_kl vllm_importance_sampling_correction vllm_importance_sampling_mode " +
  "reward_weights use_vllm vllm_mode vllm_server_host vllm_server_port " +
  "vllm_server_timeout").split(" ").map((name) => `${name} = training.${name}`).join("\n");

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
  reads those of GRPO, and rgx sft has a section sft (docs/training.md)" if axolotl.rl=null -- it says that the file is one of Axolotl, also where another model is
  typed
axolotl.adapter /adapter: one lora|qlora not llama-adapter? -> lora|qlora: lora.enabled=true; qlora:
  model.load_in_4bit=true -- lora.enabled; qlora with model.load_in_4bit; null: all weights are
  trained
axolotl.lora_target_linear /lora_target_linear: bool? -- lora.target_modules: all-linear
axolotl.chat_template: name? -> !tokenizer_default|jinja: refuse "{axolotl.chat_template}: Axolotl's
  own templates are not in rgx: tokenizer_default takes the model's, chat_template_jinja has a text or
  a file" -- tokenizer_default, or jinja with chat_template_jinja
axolotl.special_tokens /special_tokens: any a map of tokens -- only pad_token, which has no effect:
  padding is left out of everything
axolotl.plugins /plugins: any a list of plugins -- only those of liger, cut_cross_entropy and kernels,
  which have no effect: rgx runs no Python
axolotl.datasets: any a list of data sets -- one data set, its \`path\` (or \`data_files\`) as
  dataset_name, its \`name\` as dataset_config, its \`split\` as dataset_train_split
axolotl.val_set_size /val_set_size: number>=0? -> >=1: data.test_examples -- below 1 what
  data.train_ratio leaves, else data.test_examples
axolotl.cosine_min_lr_ratio /cosine_min_lr_ratio: number>=0<=1? -- lr_scheduler_type:
  cosine_with_min_lr, with lr_scheduler_kwargs: {min_lr_rate}
axolotl.saves_per_epoch /saves_per_epoch: int>=1? -- training.save_steps, 1 / (saves_per_epoch ·
  num_epochs)
axolotl.evals_per_epoch /evals_per_epoch: int>=1? -- training.eval_steps, 1 / (evals_per_epoch ·
  num_epochs)
axolotl.rl /rl: one grpo|gdpo not dpo|ipo|orpo|kto|simpo|bco|ebft|dpo_positive? -> gdpo:
  training.multi_objective_aggregation=normalize_then_sum -- it must be grpo or gdpo, which is
  multi_objective_aggregation: normalize_then_sum
- dataset_prepared_path dataset_shard_num num_dataset_shards_to_save skip_prepare_dataset
  dataset_processes dataset_keep_in_memory hf_use_auth_token is_preprocess preprocess_iterable
  total_num_tokens total_supervised_tokens sample_packing_eff_est axolotl_config_path
  shuffle_before_merging_datasets: data is read when the run begins
- sequence_len eval_sequence_len min_sample_len excess_length_strategy max_prompt_len: with rl: grpo
  lengths cut nothing in Axolotl either; max_prompt_length is the longest prompt
- strict low_cpu_mem_usage device device_map max_memory gpu_memory_limit
  experimental_skip_move_to_device embeddings_skip_upcast use_kernels tokenizer_use_fast
  tokenizer_legacy tokenizer_type tokenizer_save_jinja_files type_of_model base_model_config
  lora_fan_in_fan_out lora_on_cpu qlora_sharded_model_loading peft_autocast_adapter_dtype merge_lora
  merge_method lora_mlp_kernel lora_qkv_kernel lora_o_kernel lora_embedding_kernel
  is_falcon_derived_model is_llama_derived_model is_mistral_derived_model is_qwen_derived_model
  experts_implementation quantization xformers_attention sdp_attention flex_attention
  flex_attn_compile_kwargs flash_attention flash_attn_cross_entropy flash_attn_fuse_mlp
  flash_attn_rms_norm flash_optimum sage_attention eager_attention gemma4_hybrid_attn_impl
  large_head_attention flash_attn_d512 sdpa_varlen fused_attn_kernel: ${LOADING}
- ddp world_size gc_steps gc_collect_steps selective_checkpointing layer_offloading tiled_mlp
  tiled_mlp_num_shards tiled_mlp_use_original_mlp deepcompile torch_compile_options torchdistx_path
  profiler_steps profiler_steps_start include_tkps fsdp_version fsdp_final_state_dict_type
  heads_k_stride ring_attn_func use_ray ray_run_name ray_num_workers resources_per_worker liger_rope
  liger_rms_norm liger_rms_norm_gated liger_layer_norm liger_swiglu liger_glu_activation
  liger_cross_entropy liger_fused_linear_cross_entropy cut_cross_entropy fp32_norms
  fp32_norm_classes dynamic_checkpoint gradio_title gradio_share gradio_server_name
  gradio_server_port gradio_max_new_tokens gradio_temperature: ${PLACE}
- wandb_run_id wandb_mode wandb_watch wandb_log_model mlflow_tracking_uri mlflow_experiment_name
  mlflow_run_name hf_mlflow_log_artifacts trackio_project_name trackio_run_name use_otel_metrics
  otel_metrics_host otel_metrics_port: report_to names the trackers; their files are uploaded by
  their own programs
! test_datasets [[]]: val_set_size holds problems out
! dataset_shard_idx: max_examples takes the first rows of a file
! dataset_exact_deduplication [false]: take repeated rows out of the file
! shuffle_merged_datasets [true]: shuffle_dataset: false keeps the order
! pretraining_dataset [[]]: rgx trains with GRPO (rgx train), and supervised (rgx sft)
! push_dataset_to_hub: data is not uploaded
! default_system_message: data.system_prompt
! streaming [false]: a data set is read whole; data.max_examples
! curriculum_sampling [false]: shuffle_dataset: false keeps the order
! batch_size: micro_batch_size and gradient_accumulation_steps
! reward_model process_reward_model [false]: ${REWARDS}
! reinit_weights resize_token_embeddings_to_32x mean_resizing_embeddings shrink_embeddings
  scaling_softmax s2_attention use_onebitllms gptq quantize_moe_experts llama4_linearized_experts
  tokenizer_use_mistral_common fix_untrained_tokens [false]: ${FROM_FOLDER}
! cls_model_config overrides_of_model_config overrides_of_model_kwargs model_quantization_config
  model_quantization_config_kwargs bnb_config_kwargs processor_type processor_kwargs image_size
  image_resize_algorithm role_boundaries [{}]: ${FROM_FOLDER}
! revision_of_model ["main"]: name the folder of the model
! tokens added_tokens_overrides eot_tokens [[], {}]: the tokens are those of the tokenizer's folder
! peft_ensure_weight_tying relora [false]: ${ADAPTER_FORMS}
! peft peft_layer_replication loraplus_lr_ratio loraplus_lr_embedding
  [{}]: ${ADAPTER_FORMS}
! peft_layers_pattern [[]]: lora.layers_to_transform counts the layers of the model
! qat [{}]: model.load_in_4bit quantises frozen weights
! unfrozen_parameters [[]]: an adapter, or all weights, are trained
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
~ train_on_inputs sample_packing sample_packing_group_size sample_packing_bin_size
  sample_packing_sequentially sample_packing_mp_start_method eval_sample_packing pad_to_sequence_len
  multipack_real_batches batch_flattening use_pose pose_split_on_token_ids pose_max_context_len
  pose_num_chunks pretrain_multipack_buffer_size pretrain_multipack_attn
  pretraining_sample_concatenation streaming_multipack_buffer_size max_packed_sequence_len use_eaft
  eaft_alpha eaft_k noisy_embedding_alpha do_causal_lm_eval eval_causal_lm_metrics eval_table_size
  eval_max_new_tokens generate_samples num_generation_samples generation_max_new_tokens
  generation_temperature generation_top_p generation_top_k generation_prompt_ratio
  generation_do_sample chunked_cross_entropy chunked_cross_entropy_num_chunks
  liger_use_token_scaling: supervised training, without rl
~ dpo_use_weighting dpo_label_smoothing precompute_ref_log_probs dpo_use_liger_kernel
  dpo_padding_free dpo_loss_type dpo_loss_weights dpo_beta dpo_use_logits_to_keep
  dpo_generate_during_eval dpo_norm_loss rpo_alpha orpo_alpha simpo_gamma cpo_alpha
  kto_desirable_weight kto_undesirable_weight rl_beta center_rewards_coefficient num_labels ebft:
  other values of rl
~ scaling_softmax_factor scaling_softmax_bias relora_prune_ratio relora_prune_method
  relora_cpu_offload fp8_enable_fsdp_float8_all_gather loss_watchdog_patience bench_dataset
  bench_split lisa_step_interval lisa_layers_attribute jagged_restart_warmup_steps
  jagged_restart_anneal_steps comet_api_key comet_workspace comet_project_name
  comet_experiment_key comet_mode comet_online comet_experiment_config: the key with the beginning
  of its name, which is refused or has no effect
~ dion_lr dion_momentum dion_rank_fraction dion_rank_multiple_of qgalore_rank qgalore_update_proj_gap
  qgalore_scale qgalore_proj_type qgalore_proj_quant qgalore_proj_bits qgalore_proj_group_size
  qgalore_cos_threshold qgalore_gamma_proj qgalore_queue_size: other optimizers, which are refused
[trl]
${SAME}
vllm_importance_sampling_cap = training.vllm_importance_sampling_clip_max
reward_funcs = rewards
- use_liger_loss reward_num_workers streaming_partial_batch streaming_min_groups: it says how Axolotl
  spreads its work
- vllm_guided_decoding_regex vllm_enable_sleep_mode: ${SERVER}
- vllm_lora_sync: adapters are sent to a server after each step
- skip_zero_advantage_batches: advantages of 0 have no gradient but that of beta
! rollout_func: completions are generated by rgx itself
! use_data_producer async_prefetch [false]: ${IN_TURNS}
! vllm_sync_interval [1]: a server has the newest weights at each step
! replay_buffer_size [0]: completions are trained on once
! reroll_start_fraction [1]: dynamic_sampling draws other prompts for such groups
~ prefetch_depth replay_recompute_logps reroll_max_groups: keys of trl that are refused
[vllm]
host: name? -- the server's host, with trl.use_vllm
port: int>=1<=65535? -- the server's port
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
  // Keys such as `rl` may stand in any file; this key stands in files of Axolotl only.
  const model = keys.given("axolotl.base_model");
  if (model !== undefined) fillDefaults(keys, model);
  translateAdapter(keys, model);
  checkTokens(keys);
  translatePlugins(keys);
  translateIntervals(keys);
}

/** Axolotl's defaults that change results or the number of checkpoints. */
const DEFAULTS: readonly [name: string, value: Json, others?: string[]][] = [
  ["per_device_train_batch_size", 1],
  ["gradient_accumulation_steps", 1],
  ["num_train_epochs", 1],
  ["lr_scheduler_type", "cosine"],
  ["warmup_steps", 0.03],
  ["save_strategy", "epoch", ["training.save_steps", "axolotl.saves_per_epoch"]],
  ["save_total_limit", 4],
];

function fillDefaults(keys: Translation, model: ConfigNode): void {
  const push = keys.given("training.hub_model_id");
  // With the name of a repository, Axolotl uploads, and others can not read it.
  for (const name of push ? ["push_to_hub", "hub_private_repo"] : []) {
    keys.fill(`training.${name}`, true, push!);
  }
  const filled = DEFAULTS.filter(([name, , others = []]) =>
    ![`training.${name}`, ...others].some((path) => keys.given(path))
  ).map(([name, value]) => {
    keys.fill(`training.${name}`, value, model);
    return `${name}: ${value}`;
  });
  const steps = keys.given("training.save_steps");
  if (steps !== undefined) keys.fill("training.save_strategy", "steps", steps);
  if (filled.length === 0) return;
  keys.note(model, `Axolotl's defaults are set: ${filled.join(", ")}`, "base_model");
}

/** Without `adapter`, Axolotl trains all weights, whatever else is written. */
function noteNoAdapter(keys: Translation, model: ConfigNode): void {
  const lora = keys.given("lora");
  if (lora === undefined) return;
  const first = lora.kind === "map" ? [...lora.entries.values()][0]?.node : lora;
  if (first !== undefined && keys.given("lora.enabled") === undefined) {
    keys.note(first, `${NO_EFFECT}: without adapter: lora, all weights are trained`, "lora");
  }
  keys.set("lora.enabled", false, model);
}

const MODULES = "axolotl.lora_target_linear";

function translateAdapter(keys: Translation, model: ConfigNode | undefined): void {
  const adapter = keys.given("axolotl.adapter");
  if (adapter === undefined && model !== undefined) noteNoAdapter(keys, model);
  const linear = keys.given(MODULES);
  if (linear === undefined || !keys.isTrue(MODULES)) return;
  const named = keys.given("lora.target_modules");
  const names = named === undefined ? [] : [toJson(named)].flat();
  const others = names.filter((name) => !/_proj$/.test(String(name)));
  if (others.length > 0) {
    const text = `adds ${others.join(", ")} to lora_target_linear: give one of the two`;
    return keys.refuse(named!, text, "lora_target_modules");
  }
  keys.drop("lora.target_modules");
  keys.set("lora.target_modules", "all-linear", linear);
}

function checkTokens(keys: Translation): void {
  const tokens = "axolotl.special_tokens", special = keys.given(tokens);
  if (special === undefined) return;
  if (special.kind !== "map") {
    return keys.refuse(special, "expected a map of tokens, as in {pad_token: …}", tokens);
  }
  for (const [token, { keyAt, node }] of special.entries) {
    const key = `special_tokens.${token}`;
    if (isNull(node)) continue;
    if (token !== "pad_token") {
      keys.problems.add(keyAt, key, `${NOT_YET}; the tokens are those of the tokenizer's folder`);
    } else keys.problems.note(keyAt, key, `${NO_EFFECT}; padding is left out of everything`);
  }
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
  if (keys.text("training.lr_scheduler_type") !== "cosine") {
    const text = `${NO_EFFECT}: it only matters with lr_scheduler: cosine`;
    return keys.note(least.node, text, "cosine_min_lr_ratio");
  }
  keys.drop("training.lr_scheduler_type");
  keys.set("training.lr_scheduler_type", "cosine_with_min_lr", least.node);
  keys.set("training.lr_scheduler_kwargs", { min_lr_rate: least.value }, least.node);
}

/**
 * `trl.use_vllm` with an address (here or in `vllm`): completions are sampled on that server. The
 * rules for TRL's keys read what this sets.
 */
export function translateAxolotlServer(keys: Translation): void {
  const use = keys.given("training.use_vllm");
  if (use?.foreign !== "trl.use_vllm" || !keys.isTrue("training.use_vllm")) return;
  for (const name of ["host", "port"]) {
    const node = keys.given(`vllm.${name}`);
    if (node !== undefined) keys.fill(`training.vllm_server_${name}`, toJson(node), node);
  }
  const address = ["host", "port"].map((name) => keys.given(`training.vllm_server_${name}`))
    .find((node) => node !== undefined);
  if (address !== undefined) keys.fill("training.vllm_mode", "server", address);
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
