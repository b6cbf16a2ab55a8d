/** The course of a run: steps, evaluations, checkpoints. */
import type { TrackerName } from "../../../core/tracker_names.ts";
import type { SchedulerKwargs, SchedulerType } from "./schedule.ts";

/** The training loop: optimizer, schedule, logging, evaluation, checkpoints. */
export interface LoopSection {
  /** Folder of the run, `~` being the home folder; default ./experiments/{run_name}. */
  output_dir: string;
  /** Highest learning rate. */
  learning_rate: number;
  /** Completions of a micro-step. */
  per_device_train_batch_size: number;
  /** Completions at once in evaluation. */
  per_device_eval_batch_size: number;
  /** Micro-steps of an optimizer step. */
  gradient_accumulation_steps: number;
  /**
   * How the gradients of a step's micro-steps are added: exact has the same bits on any number of
   * ranks, and takes copies of the gradients; fast takes none; auto is exact where the copies take
   * up to 256 MiB.
   */
  reduction: "auto" | "exact" | "fast";
  /**
   * The type of gradients on their way between ranks: bfloat16 halves the bytes; sums are float32.
   * With reduction exact the gradient of each micro-step and each sum of two is rounded to it, on
   * one rank too, so the bits depend on this key and not on the ranks.
   */
  reduce_dtype: "float32" | "bfloat16";
  /**
   * 1 divides the optimizer's states over the ranks (ZeRO, stage 1): the same bits, less memory of
   * each rank, and the new values are sent after each step.
   */
  zero: number;
  /**
   * Ranks of each node, one a graphics card, or a share of the cores: rgx train starts them, as
   * --ranks does; null: as many as --ranks says, or as a launcher has started.
   */
  n_gpus_per_node: number | null;
  /** Nodes of the ranks; more than 1 within a job of so many nodes. */
  nnodes: number | null;
  /** true: computes on the CPU, as --device wasm does. */
  use_cpu: boolean;
  /** Passes over the data; decides where max_steps is -1. */
  num_train_epochs: number;
  /** Optimizer steps; -1: num_train_epochs decides. */
  max_steps: number;
  /** Schedule of the learning rate. */
  lr_scheduler_type: SchedulerType;
  /**
   * Parameters of the schedule: min_lr, min_lr_rate, num_cycles, power, lr_end, timescale,
   * num_decay_steps, num_stable_steps, min_lr_ratio, warmup_type, decay_type.
   */
  lr_scheduler_kwargs: SchedulerKwargs;
  /** Steps of linear warm-up; < 1 = ratio of all steps. */
  warmup_steps: number;
  /**
   * adamw_8bit holds AdamW's moments in 8 bits, as bitsandbytes does: in blocks of 256, embeddings
   * and tensors of less than 4,096 values as floats.
   */
  optim: "adamw_torch_fused" | "adamw_8bit";
  /**
   * The type of matrix products: bfloat16 and float16 round both sides of those of linear layers,
   * adapters and the head, in training and generation; sums and all else stay float32; with float16
   * the loss is scaled.
   */
  compute_dtype: "float32" | "bfloat16" | "float16";
  /**
   * How weights that are trained in bfloat16 (model.dtype without lora) are rounded after a step:
   * stochastic (null) takes 2 bytes a weight, kahan 4 with its compensation.
   */
  bf16_rounding: "stochastic" | "kahan" | null;
  /** AdamW's weight decay. */
  weight_decay: number;
  /** Decay of the first moment. */
  adam_beta1: number;
  /** Decay of the second moment. */
  adam_beta2: number;
  /** Added to the root of the second moment. */
  adam_epsilon: number;
  /** Clip the gradient of a step to this L2 norm; 0 = never. */
  max_grad_norm: number;
  /**
   * May recompute activations in the backward instead of keeping them (same numbers, less memory):
   * done when the run would take more than half of the memory otherwise.
   */
  gradient_checkpointing: boolean;
  /** Seed of everything random except data.seed. */
  seed: number;
  /** Seed of the order of prompts; null = seed. */
  data_seed: number | null;
  /** A new order every epoch. */
  shuffle_dataset: boolean;
  /** When a line of metrics is logged. */
  logging_strategy: "no" | "steps" | "epoch";
  /** Steps between two log lines; < 1 = share of all steps. */
  logging_steps: number;
  /** Log the first step too. */
  logging_first_step: boolean;
  /**
   * Leave a loss that is NaN or infinite out of the logged mean and of train_loss; false: it makes
   * them so, and files hold null.
   */
  logging_nan_inf_filter: boolean;
  /** When held-out problems are measured while training. */
  eval_strategy: "no" | "steps" | "epoch";
  /** Steps between two evaluations; < 1 = share of all steps; null = logging_steps. */
  eval_steps: number | null;
  /** Evaluate before the first step. */
  eval_on_start: boolean;
  /** Steps, or epochs with eval_strategy epoch, before the first evaluation. */
  eval_delay: number;
  /** When a checkpoint is written; best = when the metric has improved. */
  save_strategy: "no" | "steps" | "epoch" | "best";
  /** Steps between two checkpoints; < 1 = share of all steps. */
  save_steps: number;
  /** Checkpoints kept; null = all. */
  save_total_limit: number | null;
  /** Checkpoints can not be resumed from, and are smaller. */
  save_only_model: boolean;
  /** The best checkpoint is the result of the run. */
  load_best_model_at_end: boolean;
  /**
   * Evaluation metric that says which checkpoint is best; null = accuracy (TRL: loss, which says
   * nothing in GRPO).
   */
  metric_for_best_model: string | null;
  /** Whether more of it is better; null = unless its name ends in loss. */
  greater_is_better: boolean | null;
  /** A checkpoint folder; true: the newest of output_dir; false: start anew. */
  resume_from_checkpoint: string | boolean;
  /** Seconds that a reward has for one value. */
  reward_timeout: number;
  /** Keep completions in the run's folder, and print some. */
  log_completions: boolean;
  /** Completions printed at a time; null = all of the prompt (TRL's default). */
  num_completions_to_print: number | null;
}

/** The supervised warm start before GRPO. */
export interface SftSection {
  /** Supervised steps before GRPO; 0 = none. */
  max_steps: number;
  /** Examples of a micro-batch. */
  per_device_train_batch_size: number;
  /** Micro-batches of a step, which ranks share. */
  gradient_accumulation_steps: number;
  /** Highest learning rate. */
  learning_rate: number;
  /** Schedule of the learning rate. */
  lr_scheduler_type: SchedulerType;
  /** Parameters of the schedule. */
  lr_scheduler_kwargs: SchedulerKwargs;
  /** Steps of linear warm-up; < 1 = ratio of all steps. */
  warmup_steps: number;
  /** AdamW's weight decay. */
  weight_decay: number;
  /** Clip the gradient of a step to this L2 norm; 0 = never. */
  max_grad_norm: number;
}

/** Evaluation before and after training. */
export interface EvalSection {
  /**
   * Problems that are held out and asked before and after training; 0: none, and a file without a
   * test split is trained on as a whole.
   */
  num_examples: number;
  /** null = the training temperature. */
  temperature: number | null;
  /** Problems at once, before and after training. */
  batch_size: number;
}

/** What trackers get. */
export interface LoggingSection {
  /** Name of the run; default: name of the configuration file. */
  run_name: string;
  /** Name of the project. */
  project: string;
  /**
   * Trackers that get the metrics too: none, tensorboard, trackio, wandb (offline), mlflow, all; a
   * name or a list.
   */
  report_to: TrackerName[];
}
