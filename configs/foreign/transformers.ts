/**
 * Keys of transformers 5.23: TrainingArguments, GenerationConfig, the arguments of
 * `from_pretrained`, and BitsAndBytesConfig; and of PEFT 0.21's LoraConfig.
 */
import { table } from "./table.ts";
import type { Translation } from "./translation.ts";
import { MODEL_LOADING, OWN_KERNELS } from "./trl.ts";

const NOT_DIVIDED =
  "the model is not divided over cards; rgx train CONFIG --ranks N deals the work to several";
const NF4 = "4-bit weights are NF4 with double quantisation";
const QUANTIZED = "weights are quantised at load by model.load_in_4bit=true (NF4) or " +
  "model.load_in_8bit=true; of a quantization_config these and bnb_4bit_* are read";

/** What an adapter can be, for the refusal of another form. */
export const ADAPTER_FORMS = "adapters have use_rslora, use_dora, pissa, olora, biases and tokens";

/** Sections for the arguments of `from_pretrained`. */
const INIT = "model_init_kwargs, training.model_init_kwargs";
/** Sections that say how a model is quantised: the fields of a BitsAndBytesConfig. */
const QUANTIZATION = "quantization, quantization_config, model_init_kwargs.quantization_config, " +
  "training.model_init_kwargs.quantization_config, model.quantization_config";

export const TRANSFORMERS = table(
  "transformers",
  `
[]
torch_dtype model.torch_dtype = model.dtype
warmup_ratio training.warmup_ratio = training.warmup_steps
training.bf16 /bf16: bool? -> true: training.compute_dtype=bfloat16; false:
  training.compute_dtype=float32 if !training.fp16
training.fp16 /fp16: bool? -> true: training.compute_dtype=float16
no_cuda training.no_cuda = training.use_cpu
activation_checkpointing training.activation_checkpointing = training.gradient_checkpointing
evaluation_strategy training.evaluation_strategy = training.eval_strategy
training.run_name training.project training.report_to = logging.*
num_return_sequences = training.num_generations
max_new_tokens = training.max_completion_length
generation.max_prompt_length = training.max_prompt_length
[quantization, ${INIT}]
dtype torch_dtype = model.dtype
[${INIT}]
rope_scaling rope_parameters = model.rope_scaling
${MODEL_LOADING}
- device_map low_cpu_mem_usage: rgx train CONFIG --device says where the model is
[${INIT}, ${QUANTIZATION}]
load_in_4bit load_in_8bit = model.*
[generation, training.generation_config, generation_config]
num_return_sequences num_generations = training.num_generations
max_new_tokens max_completion_length = training.max_completion_length
temperature top_p top_k min_p repetition_penalty min_new_tokens stop = training.*
[generation, training.generation_config, generation_config, generation_kwargs,
  training.generation_kwargs, trl.generation_kwargs]
! do_sample [true]: completions of one prompt must differ to be compared; set temperature
[, training]
? fsdp fsdp_config parallelism_config deepspeed ["", false]: ${NOT_DIVIDED}
? optim_args: AdamW has keys: adam_beta1, adam_beta2, adam_epsilon
? optim_target_modules: for other optimizers; lora.target_modules
? train_sampling_strategy group_by_length ["random", false]: shuffle_dataset alone says the order of
  prompts, as in TRL's GRPO
? trackio_space_id trackio_bucket_id trackio_static_space_id ["trackio"]: nothing is uploaded; rgx
  curves draws the runs of this machine
! push_to_hub_organization: hub_model_id: ORGANIZATION/NAME
? overwrite_output_dir [false] [true]: a run is never overwritten unless rgx train CONFIG --force says
  so
! auto_find_batch_size [false]: it would break groups; rgx train CONFIG --dry-run says what fits
! label_smoothing_factor neftune_noise_alpha [0]: it is for supervised losses
- remove_unused_columns label_names length_column_name: rewards get the columns that they read
- use_liger_kernel liger_kernel_config torch_compile torch_compile_backend torch_compile_mode tf32
  half_precision_backend fp16_backend fp16_opt_level torchdynamo jit_mode_eval use_ipex
  mp_parameters past_index gradient_checkpointing_kwargs activation_checkpointing_kwargs:
  ${OWN_KERNELS}
- accelerator_config average_tokens_across_devices local_rank ddp_find_unused_parameters
  ddp_bucket_cap_mb ddp_broadcast_buffers ddp_static_graph ddp_backend ddp_timeout ray_scope
  log_on_each_node save_on_each_node log_level_replica: rgx train CONFIG --ranks N takes the steps
  that one process takes; the first rank writes
- use_mps_device tpu_num_cores tpu_metrics_debug: rgx train CONFIG --device
- bf16_full_eval fp16_full_eval include_for_metrics include_inputs_for_metrics prediction_loss_only
  batch_eval_metrics eval_do_concat_batches eval_use_gather_object eval_accumulation_steps
  use_legacy_prediction_loop: an evaluation samples completions as training does, and scores them
- do_train do_eval do_predict: the command says it: rgx train, rgx bench
- torch_empty_cache_steps include_num_input_tokens_seen include_tokens_per_second skip_memory_metrics
  debug hub_always_push dataloader_drop_last dataloader_num_workers dataloader_pin_memory
  dataloader_persistent_workers dataloader_prefetch_factor dataloader_multiprocessing_context
  dataloader_in_order save_safetensors restore_callback_states_from_checkpoint ignore_data_skip
  full_determinism enable_jit_checkpoint: it says how transformers does its work
- logging_dir: training.output_dir holds the logs too
- disable_tqdm: rgx train CONFIG --quiet
- log_level: rgx train CONFIG --quiet or --verbose
[, training, model, ${QUANTIZATION}]
! bnb_4bit_quant_type ["nf4"]: the 4-bit kernels of all devices hold nf4's levels alone
- bnb_4bit_quant_storage: 4-bit weights are stored in blocks of rgx's own
? use_bnb_nested_quant bnb_4bit_use_double_quant [true] [false]: ${NF4}
? bnb_4bit_compute_dtype ["float32"]: training.compute_dtype sets the type of products, also with
  these weights
[]
! ${QUANTIZATION.replaceAll(",", "")}: ${QUANTIZED}
[${QUANTIZATION}]
! quant_method ["bitsandbytes"]: ${QUANTIZED}
! llm_int8_threshold [6]: 8-bit weights have no outliers apart
! llm_int8_skip_modules [[], ["lm_head"]]: embedding and head alone are not quantised
! llm_int8_enable_fp32_cpu_offload [false]: weights lie on one device
! llm_int8_has_fp16_weight [false]: frozen weights are quantised for good
`,
);

/** Section `lora`. The keys that rgx obeys have the same names. */
export const PEFT = table(
  "PEFT",
  `
[, lora]
! task_type ["CAUSAL_LM"]: language models are what is trained
! layers_pattern ["layers", "h", ["layers"], ["h"], []]: lora.layers_to_transform counts the layers of
  the model
! use_qalora use_bdlora ensure_weight_tying layer_replication alora_invocation_tokens loftq_config
  eva_config corda_config lora_ga_config velora_config monteclora_config arrow_config kasa_config
  [false]: ${ADAPTER_FORMS}
! peft_type ["LORA"]: ${ADAPTER_FORMS}
! base_model_name_or_path: model.model_name_or_path
- runtime_config megatron_config megatron_core: an adapter is trained on one card
- qalora_group_size: for use_qalora, which is refused
- fan_in_fan_out: the type of the layer says it
- inference_mode auto_mapping peft_version: PEFT writes it for itself
`,
);

/** Refuses a ratio of 1 and more, which rgx would read as whole steps. */
export function checkRatios(keys: Translation): void {
  for (const section of ["training", "sft", "dpo"]) {
    const steps = keys.number(`${section}.warmup_steps`), key = steps?.node.foreign ?? "";
    if (steps === null || !key.endsWith("ratio") || steps.value < 1) continue;
    keys.refuse(steps.node, `expected a ratio < 1, found ${steps.value}`);
  }
}
