/**
 * Keys of TRL, transformers, PEFT and verl that steer other engines and change no result here: each is
 * accepted with one note. Spelling → why, which ends the note ("" = nothing to add).
 */
import { QUANTIZATION_SECTIONS } from "./foreign_keys.ts";

const EXACT = "a resume is exact and a run deterministic either way";

/** Section `training`; also flat. */
const TRAINING = `
  remove_unused_columns ds3_gather_for_generation pad_to_multiple_of cache_implementation
  vllm_model_impl vllm_enable_sleep_mode vllm_structured_outputs_regex vllm_group_port
  vllm_gpu_memory_utilization vllm_max_model_length vllm_tensor_parallel_size vllm_device
  tensor_model_parallel_size use_transformers_continuous_batching
  transformers_continuous_batching_config use_transformers_paged log_multimodal
  log_completions_hub_repo max_tool_calling_iterations trust_remote_code use_liger_kernel
  liger_kernel_config torch_compile torch_compile_backend torch_compile_mode tf32 fsdp
  fsdp_config deepspeed parallelism_config accelerator_config attn_implementation
  torch_empty_cache_steps average_tokens_across_devices optim_args optim_target_modules
  use_cache bf16_full_eval fp16_full_eval log_on_each_node save_on_each_node log_level_replica
  include_num_input_tokens_seen include_for_metrics prediction_loss_only batch_eval_metrics
  eval_do_concat_batches eval_use_gather_object eval_accumulation_steps label_names
  length_column_name train_sampling_strategy restore_callback_states_from_checkpoint
  skip_memory_metrics debug do_train do_eval do_predict local_rank hub_always_push
  trackio_space_id trackio_bucket_id trackio_static_space_id dataloader_drop_last
  dataloader_num_workers dataloader_pin_memory dataloader_persistent_workers
  dataloader_prefetch_factor dataloader_multiprocessing_context dataloader_in_order
  ddp_find_unused_parameters ddp_bucket_cap_mb ddp_broadcast_buffers ddp_static_graph
  ddp_backend ddp_timeout bnb_4bit_quant_storage dataset_streaming ignore_bias_buffers
  cast_lm_head_to_fp32 bf16 fp16 gradient_checkpointing_kwargs activation_checkpointing_kwargs
  ignore_data_skip full_determinism enable_jit_checkpoint disable_tqdm log_level use_cpu
  vllm_mode
`.trim().split(/\s+/);

/** With a word about why. */
const TRAINING_WHY: Record<string, string> = {
  bf16: "activations and sums are f32",
  fp16: "activations and sums are f32",
  cast_lm_head_to_fp32: "activations and sums are f32",
  ignore_data_skip: EXACT,
  full_determinism: EXACT,
  enable_jit_checkpoint: "SIGTERM, SIGUSR1 and SIGUSR2 always save a checkpoint",
  use_cpu: "rgx train CONFIG --device wasm",
  vllm_mode: "only matters with use_vllm",
  disable_tqdm: "rgx train CONFIG --quiet",
  log_level: "rgx train CONFIG --quiet or --verbose",
};

/** Section `model`; also flat. */
const MODEL: Record<string, string> = {
  trust_remote_code: "no code of a model is run",
  attn_implementation: "",
  use_cache: "",
};

/** Section `lora`; also flat. */
const LORA = [
  "runtime_config",
  "megatron_config",
  "megatron_core",
  "qalora_group_size",
  "fan_in_fan_out",
  "inference_mode",
];

/** Of verl's data section: where its files lie and how they are read. */
const VERL_DATA = `
  train_files val_files prompt_key reward_fn_key image_key video_key train_max_samples
  val_max_samples val_batch_size return_raw_input_ids return_raw_chat return_full_prompt
  return_multi_modal_inputs filter_overlong_prompts filter_overlong_prompts_workers truncation
  custom_cls tokenizer use_shm shuffle gen_batch_size sampler dataloader_num_workers
`.trim().split(/\s+/);

/** Sections of verl: what stands in them and is no key of rgx is listed once and ignored. */
export const VERL_SECTIONS: readonly string[] = [
  "actor_rollout_ref",
  "trainer",
  "algorithm",
  "critic",
  "reward_model",
  "custom_reward_function",
  "reward_manager",
  "ray_init",
  "ray_kwargs",
  "global_profiler",
  "hydra",
];

export const WITHOUT_EFFECT: ReadonlyMap<string, string> = collect();

function collect(): Map<string, string> {
  const keys = new Map<string, string>();
  const add = (section: string, name: string, why: string) => {
    keys.set(name, why);
    keys.set(`${section}.${name}`, why);
  };
  for (const name of TRAINING) add("training", name, TRAINING_WHY[name] ?? "");
  add("training", "vllm_mode", TRAINING_WHY.vllm_mode!);
  for (const [name, why] of Object.entries(MODEL)) add("model", name, why);
  for (const name of LORA) add("lora", name, "");
  for (const section of QUANTIZATION_SECTIONS) keys.set(`${section}.bnb_4bit_quant_storage`, "");
  for (const section of ["model_init_kwargs", "training.model_init_kwargs"]) {
    for (const name of Object.keys(MODEL)) keys.set(`${section}.${name}`, MODEL[name]!);
    for (const name of ["device_map", "low_cpu_mem_usage"]) keys.set(`${section}.${name}`, "");
  }
  for (const name of VERL_DATA) keys.set(`data.${name}`, "a key of verl");
  keys.set("verbose", "a key of verl"); // of its algorithm; reasoning-gym's recipes have it at the top
  return keys;
}
