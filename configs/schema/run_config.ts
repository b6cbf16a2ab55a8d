/**
 * The typed result of reading a configuration, which the trainer gets. Keys are those of TRL and
 * transformers (GRPOConfig 1.16, TrainingArguments 5.23, PEFT's LoraConfig 0.21). A key is listed
 * here if it has an effect. Defaults are in the schema (`schema.ts`), not here.
 */

import type { TrackerName } from "../../core/tracker_names.ts";
import type { RewardFile } from "../../rewards/custom/reward_file.ts";
import type { HfUploadSection, HubSection, SlurmSection } from "./around_sections.ts";
import type { LossType } from "./loss_types.ts";

/** How the ratio between the policy and the sampler is taken and bounded. */
export type ImportanceMode =
  | "token_truncate"
  | "token_mask"
  | "sequence_truncate"
  | "sequence_mask";

/** A model that is made from a seed instead of loaded (rgx's own section `model.init`). */
export interface ModelInit {
  architecture: "llama";
  hidden_size: number;
  intermediate_size: number;
  num_hidden_layers: number;
  num_attention_heads: number;
  num_key_value_heads: number;
  max_position_embeddings: number;
  rope_theta: number;
  rms_norm_eps: number;
  tie_word_embeddings: boolean;
  initializer_range: number;
  /** Characters of the character-level tokenizer and its special tokens. */
  tokenizer: { type: "characters"; alphabet: string; special_tokens: string[] };
}

/** The adapter that is trained: PEFT's LoraConfig. */
export interface LoraSection {
  r: number;
  lora_alpha: number;
  lora_dropout: number;
  /**
   * Names, ends of paths, a regular expression for the whole path, or "all-linear". null = the
   * default of the architecture.
   */
  target_modules: string[] | string | null;
  use_rslora: boolean;
  /** Modules that are trained in full and stored with the adapter. */
  modules_to_save: string[];
  /** Names, ends of paths, or a regular expression for the whole path. */
  exclude_modules: string[] | string;
  /** null = all. */
  layers_to_transform: number[] | null;
  rank_pattern: Record<string, number>;
  alpha_pattern: Record<string, number>;
  init_lora_weights: "true" | "false" | "gaussian";
}

/** A reward of the run, with its weight and its parameters. */
export interface RewardSection {
  name: string;
  /** Name of a built-in reward in metrics and tables; absent = that of the registry. */
  as?: string;
  weight: number;
  /**
   * The parameters of the reward. Those of a built-in reward are checked against its registry
   * entry.
   */
  params: Record<string, unknown>;
  /** Time limit for one value in seconds; absent = `training.reward_timeout`. */
  timeout?: number;
  /** The user's file with the reward; absent for a built-in reward. */
  file?: RewardFile;
}

/** How the learning rate changes over the steps, by the names of transformers. */
export type SchedulerType =
  | "linear"
  | "cosine"
  | "constant"
  | "constant_with_warmup"
  | "cosine_with_min_lr"
  | "cosine_warmup_with_min_lr"
  | "cosine_with_restarts"
  | "polynomial"
  | "inverse_sqrt"
  | "warmup_stable_decay";

/** The form of a rise or fall of the rate; by default the warm-up is linear, the decay a cosine. */
export type RampType = "linear" | "cosine" | "1-sqrt";

/** Parameters of a schedule. Which names each schedule has is checked in `configs/rules/`. */
export interface SchedulerKwargs {
  /**
   * Lowest learning rate, absolute or as a share of learning_rate (cosine…min_lr,
   * warmup_stable_decay).
   */
  min_lr?: number;
  min_lr_rate?: number;
  /**
   * Cosine: 0.5 = half a wave (default). cosine_with_restarts: a whole number of restarts, default
   * 1.
   */
  num_cycles?: number;
  /** Polynomial: the exponent, default 1, and the last learning rate (absolute), default 1e-7. */
  power?: number;
  lr_end?: number;
  /** inverse_sqrt; default: the number of warm-up steps, or 10000 without warm-up. */
  timescale?: number;
  /** warmup_stable_decay: steps of the decay (required) and of the plateau (default: the rest). */
  num_decay_steps?: number;
  num_stable_steps?: number;
  /** warmup_stable_decay: its lowest rate as a share of learning_rate, and how it gets there. */
  min_lr_ratio?: number;
  warmup_type?: RampType;
  decay_type?: RampType;
  /** cosine_warmup_with_min_lr: learning rate of the first step as a share of learning_rate. */
  warmup_lr_rate?: number;
}

/** How completions are sampled. `generation_kwargs` has been translated into these keys. */
export interface SamplingSection {
  num_generations: number;
  /**
   * Completions of one problem in evaluation while training; null = num_generations. 1 is allowed.
   */
  num_generations_eval: number | null;
  max_completion_length: number;
  max_prompt_length: number | null;
  /**
   * What happens to longer prompts: null = refused before step 1, left = the last tokens are kept.
   */
  truncate_prompts: "left" | null;
  /** Values for the chat template; those of a row of the data go before them. */
  chat_template_kwargs: Record<string, unknown>;
  temperature: number;
  top_p: number;
  top_k: number;
  min_p: number | null;
  /**
   * Logits of tokens that occurred before (in prompt or completion) are divided by it if positive,
   * multiplied by it if negative; 1 = off.
   */
  repetition_penalty: number;
  /** Minimum number of tokens before the end-of-text token. */
  min_new_tokens: number;
  /** A completion ends after the first of these texts, which is kept. */
  stop: string[];
  /** Seed of sampling; null = seed. */
  generation_seed: number | null;
}

/** How the policy is trained on completions: GRPO and its variants. */
export interface AlgorithmSection {
  /** At most one of these two is set; see `configs/batch_sizes.ts`. */
  generation_batch_size: number | null;
  steps_per_generation: number | null;
  /** μ: how many times a generation batch is trained on. */
  num_iterations: number;
  /** Saves the forward pass for old log-probabilities where a batch is for several steps. */
  use_rollout_log_probs: boolean;
  /** Whether the first step on a generation trains on the activations of sampling. */
  use_rollout_activations: boolean;
  dynamic_sampling: boolean;
  dynamic_sampling_max_batches: number;
  loss_type: LossType;
  importance_sampling_level: "token" | "sequence";
  /** KL coefficient; 0 = no reference model. */
  beta: number;
  use_bias_correction_kl: boolean;
  epsilon: number;
  /** null = epsilon. For cispo it is the cap of the ratio itself. */
  epsilon_high: number | null;
  /** Upper bound of the ratio in the unclipped term too; null = none. */
  delta: number | null;
  scale_rewards: "group" | "batch" | "none";
  multi_objective_aggregation: "sum_then_normalize" | "normalize_then_sum";
  mask_truncated_completions: boolean;
  /** The share of tokens, those with the highest entropy, that are trained on; 1 = all. */
  top_entropy_quantile: number;
  entropy_coef: number;
  use_adaptive_entropy: boolean;
  entropy_coef_min: number;
  entropy_coef_max: number;
  entropy_coef_delta: number;
  entropy_target: number;
  off_policy_mask_threshold: number | null;
  /** Whether the loss corrects for another engine or an older policy that sampled. */
  vllm_importance_sampling_correction: boolean;
  /** A ratio per token or per completion; outside the bounds it is clamped, or 0. */
  vllm_importance_sampling_mode: ImportanceMode;
  /** null = no upper bound. */
  vllm_importance_sampling_clip_max: number | null;
  /** null = no lower bound. */
  vllm_importance_sampling_clip_min: number | null;
  sapo_temperature_neg: number;
  sapo_temperature_pos: number;
  vespo_k_pos: number;
  vespo_lambda_pos: number;
  vespo_k_neg: number;
  vespo_lambda_neg: number;
  /** Only for full fine-tuning: every ref_model_sync_steps steps, ref ← α·policy + (1 − α)·ref. */
  sync_ref_model: boolean;
  ref_model_mixup_alpha: number;
  ref_model_sync_steps: number;
  /** true: dropout (of adapters) is off during training too. */
  disable_dropout: boolean;
}

/** The training loop: optimizer, schedule, logging, evaluation, checkpoints. */
export interface LoopSection {
  output_dir: string;
  learning_rate: number;
  per_device_train_batch_size: number;
  /** Batch size (completions) of evaluation while training. */
  per_device_eval_batch_size: number;
  gradient_accumulation_steps: number;
  /** How the gradients of micro-steps are added; "auto": "exact" where that takes little memory. */
  reduction: "auto" | "exact" | "fast";
  /** The type of gradients on their way between ranks. */
  reduce_dtype: "float32" | "bfloat16";
  /** Stage of ZeRO: 1 divides the optimizer's states over the ranks. */
  zero: number;
  /** Ranks that the run starts on each node; null: it starts none. */
  n_gpus_per_node: number | null;
  /** Nodes on which the run starts ranks; null = 1. */
  nnodes: number | null;
  /** The CPU, also where there is a graphics card. */
  use_cpu: boolean;
  num_train_epochs: number;
  max_steps: number;
  lr_scheduler_type: SchedulerType;
  lr_scheduler_kwargs: SchedulerKwargs;
  warmup_steps: number;
  optim: "adamw_torch_fused" | "adamw_8bit";
  /** The type to which both sides of matrix products are rounded; sums are float32. */
  compute_dtype: "float32" | "bfloat16" | "float16";
  /** How trained weights in bfloat16 are rounded; null = stochastic. */
  bf16_rounding: "stochastic" | "kahan" | null;
  weight_decay: number;
  adam_beta1: number;
  adam_beta2: number;
  adam_epsilon: number;
  max_grad_norm: number;
  /**
   * Activations may be recomputed in the backward pass instead of kept. The result has the same
   * bits; it takes less memory and more time.
   */
  gradient_checkpointing: boolean;
  seed: number;
  /** Seed of the order of prompts; null = seed. */
  data_seed: number | null;
  shuffle_dataset: boolean;
  logging_strategy: "no" | "steps" | "epoch";
  /** Steps; a value < 1 is a share of all steps (see `configs/step_interval.ts`). */
  logging_steps: number;
  logging_first_step: boolean;
  eval_strategy: "no" | "steps" | "epoch";
  /** As logging_steps; null = logging_steps. */
  eval_steps: number | null;
  eval_on_start: boolean;
  /** Steps (eval_strategy steps) or epochs (epoch) before the first evaluation. */
  eval_delay: number;
  save_strategy: "no" | "steps" | "epoch" | "best";
  /** As logging_steps. */
  save_steps: number;
  save_total_limit: number | null;
  /** Checkpoints do not contain the state that a resume needs. */
  save_only_model: boolean;
  load_best_model_at_end: boolean;
  /**
   * Name of an evaluation metric, with or without eval_; null = accuracy (see
   * `configs/best_metric.ts`).
   */
  metric_for_best_model: string | null;
  /** null = true unless the name of the metric ends in loss. */
  greater_is_better: boolean | null;
  /** A checkpoint folder, or true = the newest checkpoint of output_dir, or false = start anew. */
  resume_from_checkpoint: string | boolean;
  /** The reward's time limit: seconds for one value. */
  reward_timeout: number;
  log_completions: boolean;
  num_completions_to_print: number;
}

/** Where the completions of training are sampled. */
export interface GenerationSection {
  backend: "in_process" | "openai";
  /** Not empty for openai, else null. */
  base_url: string[] | null;
  /** null = OPENAI_API_KEY. */
  api_key_env: string | null;
  /** Seconds. */
  server_timeout: number;
  /** Steps; 0 = the present policy samples. */
  max_staleness: number;
}

/** One task of a mixture of tasks. */
export interface TaskSection {
  task_name: string;
  /** Its share of the entries, relative to the other tasks. */
  weight: number;
  config: Record<string, unknown>;
}

/** reasoning-gym's curriculum: after each step the levels of a task go up or down by its scores. */
export interface CurriculumSection {
  enabled: true;
  schedule: {
    /** Levels go up every `update_steps` steps, whatever the scores. */
    automatic: boolean;
    update_steps: number;
  };
  /** The number of newest scores that decide. While there are fewer, levels stay. */
  last_k: number;
  success_threshold: number;
  failure_threshold: number;
  /**
   * Tasks and their starting levels (`*` = all attributes). Empty: all tasks of the run that have
   * levels.
   */
  curricula: Record<string, { attribute_levels: Record<string, number>; weight: number }>;
}

/**
 * A whole configuration with canonical keys and all defaults filled in. docs/configuration.md
 * explains each key.
 */
export interface RunConfig {
  model: {
    /**
     * Folder of a Hugging Face model, a GGUF file, or a name on the Hub; null when `init` is given.
     */
    model_name_or_path: string | null;
    /** A LoRA adapter that is trained further: a folder, or a name on the Hub; null = a new one. */
    adapter_name_or_path: string | null;
    tokenizer_name_or_path: string | null;
    /** A Jinja template, or the path of a file with one; null = the model's own. */
    chat_template: string | null;
    /** Fields of a config.json and `of`, the name of the model (`configs/model_shapes.ts`). */
    shape: Record<string, unknown> | null;
    /** Section `rope_scaling` of a config.json, in place of the model's own; null = its own. */
    rope_scaling: Record<string, unknown> | null;
    /** Storage type of frozen weights; auto = as they are stored in the files. */
    dtype: "auto" | "float32" | "float16" | "bfloat16";
    /** Frozen linear layers are quantised when they are loaded. At most one of the two is set. */
    load_in_4bit: boolean;
    load_in_8bit: boolean;
    init: ModelInit | null;
  };
  /** null = full fine-tuning. */
  lora: LoraSection | null;
  data: {
    /** A procedural task, or null when `dataset_name` is given. */
    task_name: string | null;
    task_config: Record<string, unknown>;
    /** Several tasks drawn by weight. task_name is then null or "composite". */
    tasks: TaskSection[] | null;
    /** Files of tasks that are not part of rgx. */
    task_files: { path: string; sha256?: string }[];
    /** A JSONL file with question/answer or prompt columns. */
    dataset_name: string | null;
    /** The column that holds the prompts; null = one of those that data/row_entries.ts knows. */
    dataset_prompt_column: string | null;
    /** null = all rows of a file. */
    num_examples: number | null;
    /** Only this many first rows of a file; null = all. */
    max_examples: number | null;
    /** Sizes of the splits; null = as the data has them (data/split_sizes.ts). */
    train_ratio: number | null;
    validation_examples: number | null;
    test_examples: number | null;
    seed: number;
    /** Default: true for rgx's own tasks, false for other data. */
    add_instructions: boolean;
    /** A text is a user's message for the chat template, or continued as plain text. */
    prompt_format: "chat" | "plain";
    system_prompt: string | null;
  };
  /** Difficulty levels that follow the results, or null. */
  curriculum: CurriculumSection | null;
  rewards: RewardSection[];
  /** Supervised warm start before GRPO, or null. */
  sft: {
    max_steps: number;
    per_device_train_batch_size: number;
    gradient_accumulation_steps: number;
    learning_rate: number;
    lr_scheduler_type: SchedulerType;
    lr_scheduler_kwargs: SchedulerKwargs;
    warmup_steps: number;
    weight_decay: number;
    max_grad_norm: number;
  } | null;
  /** Held-out evaluation before and after training; num_examples 0 = none. */
  eval: { num_examples: number; temperature: number | null; batch_size: number };
  generation: GenerationSection;
  training: LoopSection & SamplingSection & AlgorithmSection & HubSection;
  logging: { run_name: string; project: string; report_to: TrackerName[] };
  /** null = nothing is uploaded by this section. */
  hf_upload: HfUploadSection | null;
  /** null = the flags of `rgx slurm` have defaults of their own. */
  slurm: SlurmSection | null;
}
