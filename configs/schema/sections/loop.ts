/** The course of a run: steps, evaluations, checkpoints. */
import type { TrackerName } from "../../../core/tracker_names.ts";
import type { SchedulerKwargs, SchedulerType } from "./schedule.ts";

/** The training loop: optimizer, schedule, logging, evaluation, checkpoints. */
export interface LoopSection {
  /** Folder of the run, absolute or from the current folder. */
  output_dir: string;
  /** Highest learning rate of the schedule. */
  learning_rate: number;
  /** Completions of a micro-step. */
  per_device_train_batch_size: number;
  /** Batch size (completions) of evaluation while training. */
  per_device_eval_batch_size: number;
  /** Micro-steps of an optimizer step. */
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
  /** Passes over the data; decides where max_steps is −1. */
  num_train_epochs: number;
  /** Optimizer steps; −1: num_train_epochs decides. */
  max_steps: number;
  /** Schedule of the learning rate. */
  lr_scheduler_type: SchedulerType;
  /** Parameters of the schedule. */
  lr_scheduler_kwargs: SchedulerKwargs;
  /** Steps of the warm-up; a value < 1 is a share of all steps. */
  warmup_steps: number;
  /** AdamW; `adamw_8bit` holds its moments in 8 bits, in blocks of 256 values. */
  optim: "adamw_torch_fused" | "adamw_8bit";
  /** The type to which both sides of matrix products are rounded; sums are float32. */
  compute_dtype: "float32" | "bfloat16" | "float16";
  /** How trained weights in bfloat16 are rounded; null = stochastic. */
  bf16_rounding: "stochastic" | "kahan" | null;
  /** AdamW's weight decay. */
  weight_decay: number;
  /** Decay of the first moment. */
  adam_beta1: number;
  /** Decay of the second moment. */
  adam_beta2: number;
  /** Added to the root of the second moment. */
  adam_epsilon: number;
  /** The gradient of a step is clipped to this L2 norm; 0 = never. */
  max_grad_norm: number;
  /**
   * Activations may be recomputed in the backward pass instead of kept. The result has the same
   * bits; it takes less memory and more time.
   */
  gradient_checkpointing: boolean;
  /** Seed of everything random but the problems (`data.seed`). */
  seed: number;
  /** Seed of the order of prompts; null = seed. */
  data_seed: number | null;
  /** Whether each epoch has a new order of prompts. */
  shuffle_dataset: boolean;
  /** When a line of metrics is logged. */
  logging_strategy: "no" | "steps" | "epoch";
  /** Steps; a value < 1 is a share of all steps (see `configs/step_interval.ts`). */
  logging_steps: number;
  /** Whether the first step is logged too. */
  logging_first_step: boolean;
  /** A loss that is not finite is left out of means; false: it makes them NaN. */
  logging_nan_inf_filter: boolean;
  /** When held-out problems are asked while training. */
  eval_strategy: "no" | "steps" | "epoch";
  /** As logging_steps; null = logging_steps. */
  eval_steps: number | null;
  /** Whether they are asked before the first step, too. */
  eval_on_start: boolean;
  /** Steps (eval_strategy steps) or epochs (epoch) before the first evaluation. */
  eval_delay: number;
  /** When a checkpoint is written; `best`: when the metric has improved. */
  save_strategy: "no" | "steps" | "epoch" | "best";
  /** As logging_steps. */
  save_steps: number;
  /** How many of the newest checkpoints are kept; null = all. */
  save_total_limit: number | null;
  /** Checkpoints do not contain the state that a resume needs. */
  save_only_model: boolean;
  /** Whether the result of the run is its best checkpoint instead of its last state. */
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
  /** Whether completions are written to the run's folder, and some printed. */
  log_completions: boolean;
  /** Completions that are printed at a time; null = all of the prompt. */
  num_completions_to_print: number | null;
}

/** The supervised warm start before GRPO. */
export interface SftSection {
  /** Supervised steps before GRPO. */
  max_steps: number;
  /** Examples of a micro-batch. */
  per_device_train_batch_size: number;
  /** Micro-batches of a step. */
  gradient_accumulation_steps: number;
  /** Highest learning rate of the schedule. */
  learning_rate: number;
  /** Schedule of the learning rate. */
  lr_scheduler_type: SchedulerType;
  /** Parameters of the schedule. */
  lr_scheduler_kwargs: SchedulerKwargs;
  /** Steps of the warm-up; a value < 1 is a share of all steps. */
  warmup_steps: number;
  /** AdamW's weight decay. */
  weight_decay: number;
  /** The gradient of a step is clipped to this L2 norm; 0 = never. */
  max_grad_norm: number;
}

/** Evaluation before and after training. */
export interface EvalSection {
  /** Problems that are held out, and asked before and after training; 0 = none. */
  num_examples: number;
  /** Of sampling; null = training.temperature. */
  temperature: number | null;
  /** Problems at once. */
  batch_size: number;
}

/** What trackers get. */
export interface LoggingSection {
  /** Name of the run in tables, charts and trackers. */
  run_name: string;
  /** Name of the project in trackers. */
  project: string;
  /** Trackers that get the metrics beside the files of the run. */
  report_to: TrackerName[];
}
