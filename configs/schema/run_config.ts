/**
 * The typed result of reading a configuration: what the trainer gets. Keys are TRL's and transformers'
 * (GRPOConfig 1.16, TrainingArguments 5.23, PEFT LoraConfig 0.21); a key exists here once it has an effect.
 * Defaults live in the schema (`schema.ts`), not here.
 */

import type { TrackerName } from "../../core/tracker_names.ts";
import type { RewardFile } from "../../rewards/custom/scorer.ts";
import type { LossType } from "./loss_types.ts";

/** A model made from a seed instead of loaded (rgx's own section `model.init`). */
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

export interface LoraSection {
  r: number;
  lora_alpha: number;
  lora_dropout: number;
  /** Names or ends of paths, an expression for the whole path, "all-linear"; null = the architecture's. */
  target_modules: string[] | string | null;
  use_rslora: boolean;
  /** Modules trained in full and stored with the adapter. */
  modules_to_save: string[];
  /** Names or ends of paths, or an expression for the whole path. */
  exclude_modules: string[] | string;
  /** null = all. */
  layers_to_transform: number[] | null;
  rank_pattern: Record<string, number>;
  alpha_pattern: Record<string, number>;
  init_lora_weights: "true" | "false" | "gaussian";
}

export interface RewardSection {
  name: string;
  weight: number;
  /** The reward's own parameters, checked against what its registry entry declares (not of a file). */
  params: Record<string, unknown>;
  /** Seconds for one value, where it is not `training.reward_timeout`. */
  timeout?: number;
  /** The user's file that is the reward. */
  file?: RewardFile;
}

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

/** Parameters of one schedule; which names a schedule takes is checked when it is read. */
export interface SchedulerKwargs {
  /** Lowest rate, absolute, or as a share of learning_rate (cosine…min_lr, warmup_stable_decay). */
  min_lr?: number;
  min_lr_rate?: number;
  /** Cosine: 0.5 = half a wave (default); cosine_with_restarts: whole number of restarts, default 1. */
  num_cycles?: number;
  /** Polynomial: exponent, default 1, and last rate, absolute, default 1e-7. */
  power?: number;
  lr_end?: number;
  /** inverse_sqrt; default: the warm-up steps, else 10000. */
  timescale?: number;
  /** warmup_stable_decay: steps of the decay (required) and of the plateau (default: the rest). */
  num_decay_steps?: number;
  num_stable_steps?: number;
  /** cosine_warmup_with_min_lr: rate of the first step as a share of learning_rate. */
  warmup_lr_rate?: number;
}

/** How completions are sampled. `generation_kwargs` has been folded in. */
export interface SamplingSection {
  num_generations: number;
  /** Completions of one problem in evaluation while training; null = num_generations. 1 is allowed. */
  num_generations_eval: number | null;
  max_completion_length: number;
  max_prompt_length: number | null;
  /** What happens to longer prompts: null = refused before step 1, left = the last tokens are kept. */
  truncate_prompts: "left" | null;
  temperature: number;
  top_p: number;
  top_k: number;
  min_p: number | null;
  /** Logits of tokens seen (prompt and completion) are divided (> 0) or multiplied (< 0) by it; 1 = off. */
  repetition_penalty: number;
  /** No end of text before so many tokens. */
  min_new_tokens: number;
  /** A completion ends after the first of these texts, which it keeps. */
  stop: string[];
  /** Seed of sampling; null = seed. */
  generation_seed: number | null;
}

/** What is done with completions: GRPO and its variants (grpo-numerics). */
export interface AlgorithmSection {
  /** At most one of these two is set; see `configs/batch_sizes.ts` resolves them. */
  generation_batch_size: number | null;
  steps_per_generation: number | null;
  /** μ: how often a generation batch is trained on. */
  num_iterations: number;
  dynamic_sampling: boolean;
  dynamic_sampling_max_batches: number;
  loss_type: LossType;
  importance_sampling_level: "token" | "sequence";
  /** KL coefficient; 0 = no reference model. */
  beta: number;
  use_bias_correction_kl: boolean;
  epsilon: number;
  /** null = epsilon. For cispo: the cap of the ratio itself. */
  epsilon_high: number | null;
  /** Upper bound of the ratio in the unclipped term too; null = none. */
  delta: number | null;
  scale_rewards: "group" | "batch" | "none";
  multi_objective_aggregation: "sum_then_normalize" | "normalize_then_sum";
  mask_truncated_completions: boolean;
  /** Only tokens whose entropy is in the top share are trained on; 1 = all. */
  top_entropy_quantile: number;
  entropy_coef: number;
  use_adaptive_entropy: boolean;
  entropy_coef_min: number;
  entropy_coef_max: number;
  entropy_coef_delta: number;
  entropy_target: number;
  off_policy_mask_threshold: number | null;
  sapo_temperature_neg: number;
  sapo_temperature_pos: number;
  vespo_k_pos: number;
  vespo_lambda_pos: number;
  vespo_k_neg: number;
  vespo_lambda_neg: number;
  /** Full fine-tuning only: ref ← α·policy + (1 − α)·ref every ref_model_sync_steps steps. */
  sync_ref_model: boolean;
  ref_model_mixup_alpha: number;
  ref_model_sync_steps: number;
  /** Dropout (of adapters) is off in training too. */
  disable_dropout: boolean;
}

/** The training loop: optimizer, schedule, log, evaluation, checkpoints. */
export interface LoopSection {
  output_dir: string;
  learning_rate: number;
  per_device_train_batch_size: number;
  /** Completions at once in evaluation while training. */
  per_device_eval_batch_size: number;
  gradient_accumulation_steps: number;
  num_train_epochs: number;
  max_steps: number;
  lr_scheduler_type: SchedulerType;
  lr_scheduler_kwargs: SchedulerKwargs;
  warmup_steps: number;
  weight_decay: number;
  adam_beta1: number;
  adam_beta2: number;
  adam_epsilon: number;
  max_grad_norm: number;
  /** Activations may be recomputed in the backward instead of kept: the same bits, less memory, more time. */
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
  /** No evaluation before so many steps (eval_strategy steps) or epochs (epoch). */
  eval_delay: number;
  save_strategy: "no" | "steps" | "epoch" | "best";
  /** As logging_steps. */
  save_steps: number;
  save_total_limit: number | null;
  /** Checkpoints without the state that a resume needs. */
  save_only_model: boolean;
  load_best_model_at_end: boolean;
  /** Name of an evaluation metric, with or without eval_; null = accuracy (see `configs/best_metric.ts`). */
  metric_for_best_model: string | null;
  /** null = whether the metric's name does not end in loss. */
  greater_is_better: boolean | null;
  /** A checkpoint folder, or true: the newest of output_dir; false = start afresh. */
  resume_from_checkpoint: string | boolean;
  /** Seconds that a reward has for one value. */
  reward_timeout: number;
  log_completions: boolean;
  num_completions_to_print: number;
}

/** One of several tasks. */
export interface TaskSection {
  task_name: string;
  /** Its share of the entries, relative to the others. */
  weight: number;
  config: Record<string, unknown>;
}

/** reasoning-gym's curriculum: after each step a task's levels go up or down by its scores. */
export interface CurriculumSection {
  enabled: true;
  schedule: {
    /** Up every `update_steps` steps, whatever the scores. */
    automatic: boolean;
    update_steps: number;
  };
  /** Newest scores that are looked at; fewer move nothing. */
  last_k: number;
  success_threshold: number;
  failure_threshold: number;
  /** Tasks and their starting levels (`*`: of all attributes); none: all tasks of the run that have levels. */
  curricula: Record<string, { attribute_levels: Record<string, number>; weight: number }>;
}

/** A whole configuration, with canonical keys and all defaults filled in; docs/configuration.md explains each. */
export interface RunConfig {
  model: {
    /** Folder of a Hugging Face model, GGUF file or Hub name, or null when `init` is given. */
    model_name_or_path: string | null;
    tokenizer_name_or_path: string | null;
    /** Fields of a config.json and `of`, the model's name (model_shapes.ts). */
    shape: Record<string, unknown> | null;
    /** What frozen weights are held in; auto = as they are stored. */
    dtype: "auto" | "float32" | "float16" | "bfloat16";
    /** Frozen linear layers are quantised at load; at most one of the two. */
    load_in_4bit: boolean;
    load_in_8bit: boolean;
    init: ModelInit | null;
  };
  /** null = full fine-tuning. */
  lora: LoraSection | null;
  data: {
    /** Procedural task, or null when `dataset_name` is given. */
    task_name: string | null;
    task_config: Record<string, unknown>;
    /** Several tasks drawn by weight; then task_name is null or "composite". */
    tasks: TaskSection[] | null;
    /** JSONL file with question/answer or prompt columns. */
    dataset_name: string | null;
    /** null = all of a file. */
    num_examples: number | null;
    /** Only the first so many rows of a file; null = all. */
    max_examples: number | null;
    seed: number;
    add_instructions: boolean;
    system_prompt: string | null;
  };
  /** Difficulty levels that move with the results, or null. */
  curriculum: CurriculumSection | null;
  rewards: RewardSection[];
  /** Supervised warm start before GRPO, or null. */
  sft: {
    max_steps: number;
    per_device_train_batch_size: number;
    learning_rate: number;
    lr_scheduler_type: SchedulerType;
    lr_scheduler_kwargs: SchedulerKwargs;
    warmup_steps: number;
    weight_decay: number;
    max_grad_norm: number;
  } | null;
  /** Held-out evaluation before and after training. num_examples 0 = none. */
  eval: { num_examples: number; temperature: number | null; batch_size: number };
  training: LoopSection & SamplingSection & AlgorithmSection;
  logging: { run_name: string; project: string; report_to: TrackerName[] };
}
