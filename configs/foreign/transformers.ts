/**
 * Keys of transformers 5.23: TrainingArguments, GenerationConfig, the arguments of
 * `from_pretrained`, and BitsAndBytesConfig.
 */
import {
  allMean,
  each,
  flatAndIn,
  type ForeignTable,
  insideOf,
  noted,
  ratio,
  refused,
  type RefusedKey,
  steersElsewhere,
  type ValueRule,
} from "./foreign_table.ts";
import { key } from "../types/key_spec.ts";
import { bool, nullable } from "../types/value_types.ts";
import { nearness } from "../documents/node.ts";
import type { Translation } from "./translation.ts";
import { MODEL_LOADING, OWN_KERNELS, STORAGE } from "./trl.ts";

const NOT_DIVIDED =
  "the model is not divided over cards; rgx train CONFIG --ranks N deals the work to several";
const ORDER = "shuffle_dataset alone says the order of prompts, as in TRL's GRPO";
const PLACE = "rgx train CONFIG --device says where the model is";
const SPACE = "nothing is uploaded; rgx curves draws the runs of this machine";
const COMPUTE = "training.compute_dtype sets the type of products, also with these weights";
const EXACT = "a resume is exact and a run deterministic either way";
const NF4 = "4-bit weights are NF4 with double quantisation";
const QUANTIZATION_ADVICE =
  "weights are quantised at load by model.load_in_4bit=true (NF4) or model.load_in_8bit=true; " +
  "of a quantization_config these and bnb_4bit_* are read";

/** Sections for the arguments of `from_pretrained`. */
const MODEL_INIT_KWARGS = ["model_init_kwargs", "training.model_init_kwargs"];
/** Sections that say how a model is quantised. The fields of a BitsAndBytesConfig stand in them. */
const QUANTIZATION_SECTIONS = [
  "quantization",
  "quantization_config",
  ...MODEL_INIT_KWARGS.map((section) => `${section}.quantization_config`),
  "model.quantization_config",
];

const TRAINING: Record<string, RefusedKey> = {
  fsdp: steersElsewhere(NOT_DIVIDED, "", [], false),
  fsdp_config: steersElsewhere(NOT_DIVIDED, {}),
  deepspeed: steersElsewhere(NOT_DIVIDED, ""),
  parallelism_config: steersElsewhere(NOT_DIVIDED, {}),
  optim_args: steersElsewhere("AdamW has keys: adam_beta1, adam_beta2, adam_epsilon", ""),
  optim_target_modules: steersElsewhere("for other optimizers; lora.target_modules", []),
  train_sampling_strategy: steersElsewhere(ORDER, "random"),
  group_by_length: steersElsewhere(ORDER, false),
  trackio_space_id: steersElsewhere(SPACE, "trackio"),
  trackio_bucket_id: steersElsewhere(SPACE),
  trackio_static_space_id: steersElsewhere(SPACE),
  push_to_hub_organization: refused("hub_model_id: ORGANIZATION/NAME"),
  overwrite_output_dir: noted(
    "a run is never overwritten unless rgx train CONFIG --force says so",
    false,
    true,
  ),
  auto_find_batch_size: refused(
    "it would break groups; rgx train CONFIG --dry-run says what fits",
    false,
  ),
  label_smoothing_factor: refused("it is for supervised losses", 0),
  neftune_noise_alpha: refused("it is for supervised losses"),
};

/**
 * Fields of BitsAndBytesConfig. They are also allowed in section `model`, because TRL's ModelConfig
 * has them.
 */
const QUANTIZATION: Record<string, RefusedKey> = {
  bnb_4bit_quant_type: refused("the 4-bit kernels of all devices hold nf4's levels alone", "nf4"),
  use_bnb_nested_quant: noted(NF4, true, false),
  bnb_4bit_use_double_quant: noted(NF4, true, false),
  bnb_4bit_compute_dtype: steersElsewhere(COMPUTE, "float32"),
};

/** Further fields of BitsAndBytesConfig. */
const QUANTIZATION_CONFIG: Record<string, RefusedKey> = {
  quant_method: refused(QUANTIZATION_ADVICE, "bitsandbytes"),
  llm_int8_threshold: refused("8-bit weights have no outliers apart", 6),
  llm_int8_skip_modules: refused("embedding and head alone are not quantised", [], ["lm_head"]),
  llm_int8_enable_fp32_cpu_offload: refused("weights lie on one device", false),
  llm_int8_has_fp16_weight: refused("frozen weights are quantised for good", false),
};

const GREEDY = "completions of one prompt must differ to be compared; set temperature";

/** transformers' switch for mixed precision; null = rgx's default. */
const mixedPrecision: ValueRule = (node) => {
  if (node.kind !== "scalar" || (typeof node.value !== "boolean" && node.value !== null)) {
    return "expected true or false";
  }
  return { kind: "scalar", value: node.value === true ? "bfloat16" : "float32", at: node.at };
};

const TRAINING_WITHOUT_EFFECT: Record<string, string> = {
  ...each(
    "remove_unused_columns label_names length_column_name",
    "rewards get the columns that they read",
  ),
  ...each(
    `
    use_liger_kernel liger_kernel_config torch_compile torch_compile_backend torch_compile_mode
    tf32 half_precision_backend fp16_backend fp16_opt_level torchdynamo jit_mode_eval use_ipex
    mp_parameters past_index
  `,
    OWN_KERNELS,
  ),
  ...each(
    `
    accelerator_config average_tokens_across_devices local_rank ddp_find_unused_parameters
    ddp_bucket_cap_mb ddp_broadcast_buffers ddp_static_graph ddp_backend ddp_timeout ray_scope
    log_on_each_node save_on_each_node log_level_replica
  `,
    "rgx train CONFIG --ranks N takes the steps that one process takes; the first rank writes",
  ),
  ...each("use_mps_device tpu_num_cores tpu_metrics_debug", "rgx train CONFIG --device"),
  torch_empty_cache_steps: "memory is planned before a run starts",
  ...each("bf16_full_eval fp16_full_eval", "an evaluation computes as training does"),
  ...each(
    `
    include_for_metrics include_inputs_for_metrics prediction_loss_only batch_eval_metrics
    eval_do_concat_batches eval_use_gather_object eval_accumulation_steps
    use_legacy_prediction_loop
  `,
    "an evaluation samples completions and scores them",
  ),
  ...each(
    "include_num_input_tokens_seen include_tokens_per_second skip_memory_metrics debug",
    "tokens, times and memory are always in metrics.jsonl",
  ),
  ...each("do_train do_eval do_predict", "the command says it: rgx train, rgx bench"),
  hub_always_push: "a save is not uploaded while another one is",
  ...each(
    `
    dataloader_drop_last dataloader_num_workers dataloader_pin_memory
    dataloader_persistent_workers dataloader_prefetch_factor dataloader_multiprocessing_context
    dataloader_in_order
  `,
    "problems are read or made in the process, in the same order always",
  ),
  ...each("gradient_checkpointing_kwargs activation_checkpointing_kwargs", OWN_KERNELS),
  logging_dir: "training.output_dir holds the logs too",
  save_safetensors: "checkpoints are always safetensors",
  restore_callback_states_from_checkpoint: EXACT,
  ignore_data_skip: EXACT,
  full_determinism: EXACT,
  enable_jit_checkpoint: "SIGTERM, SIGUSR1 and SIGUSR2 always save a checkpoint",
  disable_tqdm: "rgx train CONFIG --quiet",
  log_level: "rgx train CONFIG --quiet or --verbose",
};

/** Sections for the fields of a GenerationConfig. */
const GENERATION = ["generation", "training.generation_config", "generation_config"];

/** Each of these names in each of those sections → the same canonical key. */
function generation(canonical: string, ...names: string[]): Record<string, string> {
  return insideOf(GENERATION, allMean(canonical, ...names));
}

/** fp16: true is compute_dtype: float16; false leaves it to bf16. */
export function translateFp16(translation: Translation): void {
  const fp16 = translation.node("training.fp16"),
    there = translation.given("training.compute_dtype");
  if (fp16 === undefined || !translation.isTrue("training.fp16")) return;
  const isSwitch = /bf16$/.test(there?.foreign ?? "");
  if (
    isSwitch && nearness(fp16, there!) === 0 &&
    translation.text("training.compute_dtype") === "bfloat16"
  ) {
    translation.refuse(fp16, "training.fp16", "bf16 is true, too: give one of them");
    return;
  }
  // bf16: false only says that it is not bfloat16.
  if (isSwitch && translation.text("training.compute_dtype") !== "bfloat16") {
    translation.drop("training", "compute_dtype");
  }
  translation.set("training", "compute_dtype", "float16", fp16);
}

export const TRANSFORMERS: ForeignTable = {
  obeyed: {
    ...allMean("model.dtype", "torch_dtype", "model.torch_dtype"),
    ...insideOf(["quantization", ...MODEL_INIT_KWARGS], { dtype: "model.dtype" }),
    ...insideOf(["quantization", ...MODEL_INIT_KWARGS], { torch_dtype: "model.dtype" }),
    ...insideOf(MODEL_INIT_KWARGS, {
      rope_scaling: "model.rope_scaling",
      rope_parameters: "model.rope_scaling",
    }),
    ...insideOf([...MODEL_INIT_KWARGS, ...QUANTIZATION_SECTIONS], {
      load_in_4bit: "model.load_in_4bit",
      load_in_8bit: "model.load_in_8bit",
    }),
    ...allMean("training.compute_dtype", "bf16", "training.bf16"),
    ...allMean("training.use_cpu", "no_cuda", "training.no_cuda"),
    ...allMean("training.warmup_steps", "warmup_ratio", "training.warmup_ratio"),
    ...allMean(
      "training.gradient_checkpointing",
      "activation_checkpointing",
      "training.activation_checkpointing",
    ),
    ...allMean(
      "training.eval_strategy",
      "evaluation_strategy",
      "training.evaluation_strategy",
    ),
    "training.run_name": "logging.run_name",
    "training.project": "logging.project",
    "training.report_to": "logging.report_to",
    num_return_sequences: "training.num_generations",
    ...generation("training.num_generations", "num_return_sequences", "num_generations"),
    max_new_tokens: "training.max_completion_length",
    ...generation("training.max_completion_length", "max_new_tokens", "max_completion_length"),
    "generation.max_prompt_length": "training.max_prompt_length",
    ...generation("training.temperature", "temperature"),
    ...generation("training.top_p", "top_p"),
    ...generation("training.top_k", "top_k"),
    ...generation("training.min_p", "min_p"),
    ...generation("training.repetition_penalty", "repetition_penalty"),
    ...generation("training.min_new_tokens", "min_new_tokens"),
    ...generation("training.stop", "stop"),
  },
  values: {
    warmup_ratio: ratio,
    "training.warmup_ratio": ratio,
    ...flatAndIn("training", { bf16: mixedPrecision }),
  },
  translated: {
    "training.fp16": key(nullable(bool()), null, "compute_dtype: float16", ["fp16"]),
  },
  withoutEffect: {
    ...flatAndIn("training", TRAINING_WITHOUT_EFFECT),
    ...insideOf(["model", ...QUANTIZATION_SECTIONS], { bnb_4bit_quant_storage: STORAGE }),
    ...insideOf(MODEL_INIT_KWARGS, {
      ...MODEL_LOADING,
      ...each("device_map low_cpu_mem_usage", PLACE),
    }),
  },
  refused: {
    ...flatAndIn("training", TRAINING),
    ...flatAndIn("model", QUANTIZATION),
    ...insideOf(QUANTIZATION_SECTIONS, QUANTIZATION),
    ...Object.fromEntries(
      QUANTIZATION_SECTIONS.map((section) => [section, refused(QUANTIZATION_ADVICE, {})]),
    ),
    ...insideOf(QUANTIZATION_SECTIONS, QUANTIZATION_CONFIG),
    ...insideOf(GENERATION, { do_sample: refused(GREEDY, true) }),
  },
};
