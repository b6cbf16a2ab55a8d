/**
 * The keys of section `training`. Written by deno task docs:config from the schema; do not edit it.
 */
import type { RunConfig } from "../schema/run_config.ts";

/** The section `training` of a configuration that was read. */
export type Training = RunConfig["training"];

/** The training loop, sampling and GRPO: `training`. */
export interface TrainingKeys {
  /**
   * Folder of the run, `~` being the home folder; default ./experiments/{run_name}. Expected: a
   * name.
   */
  output_dir?: Training["output_dir"];
  /** Highest learning rate. Expected: a number ≥ 0; default 0.000001. */
  learning_rate?: Training["learning_rate"];
  /** Completions of a micro-step. Expected: an integer ≥ 1; default 8. */
  per_device_train_batch_size?: Training["per_device_train_batch_size"];
  /** Completions at once in evaluation. Expected: an integer ≥ 1; default 8. */
  per_device_eval_batch_size?: Training["per_device_eval_batch_size"];
  /** Micro-steps of an optimizer step. Expected: an integer ≥ 1; default 1. */
  gradient_accumulation_steps?: Training["gradient_accumulation_steps"];
  /**
   * How the gradients of a step's micro-steps are added: exact has the same bits on any number of
   * ranks, and takes copies of the gradients; fast takes none; auto is exact where the copies take
   * up to 256 MiB. Expected: auto, exact or fast; default auto.
   */
  reduction?: Training["reduction"];
  /**
   * The type of gradients on their way between ranks: bfloat16 halves the bytes; sums are float32.
   * With reduction exact the gradient of each micro-step and each sum of two is rounded to it, on
   * one rank too, so the bits depend on this key and not on the ranks. Expected: float32 or
   * bfloat16; default float32.
   */
  reduce_dtype?: Training["reduce_dtype"];
  /**
   * 1 divides the optimizer's states over the ranks (ZeRO, stage 1): the same bits, less memory of
   * each rank, and the new values are sent after each step. Expected: 0 or 1; default 0.
   */
  zero?: Training["zero"];
  /**
   * Ranks of each node, one a graphics card, or a share of the cores: rgx train starts them, as
   * --ranks does; null: as many as --ranks says, or as a launcher has started. Expected: an integer
   * ≥ 1 or null; default null.
   */
  n_gpus_per_node?: Training["n_gpus_per_node"];
  /**
   * Nodes of the ranks; more than 1 within a job of so many nodes. Expected: an integer ≥ 1 or
   * null; default null.
   */
  nnodes?: Training["nnodes"];
  /** true: computes on the CPU, as --device wasm does. Expected: true or false; default false. */
  use_cpu?: Training["use_cpu"];
  /** Passes over the data; decides where max_steps is -1. Expected: a number > 0; default 3. */
  num_train_epochs?: Training["num_train_epochs"];
  /** Optimizer steps; -1: num_train_epochs decides. Expected: an integer ≥ -1; default -1. */
  max_steps?: Training["max_steps"];
  /**
   * Schedule of the learning rate. Expected: linear, cosine, constant, constant_with_warmup,
   * cosine_with_min_lr, cosine_warmup_with_min_lr, cosine_with_restarts, polynomial, inverse_sqrt
   * or warmup_stable_decay; default linear.
   */
  lr_scheduler_type?: Training["lr_scheduler_type"];
  /**
   * Parameters of the schedule: min_lr, min_lr_rate, num_cycles, power, lr_end, timescale,
   * num_decay_steps, num_stable_steps, min_lr_ratio, warmup_type, decay_type. Expected: a map of
   * parameters of the schedule; default {}.
   */
  lr_scheduler_kwargs?: Training["lr_scheduler_kwargs"];
  /** Steps of linear warm-up; < 1 = ratio of all steps. Expected: a number ≥ 0; default 0. */
  warmup_steps?: Training["warmup_steps"];
  /**
   * adamw_8bit holds AdamW's moments in 8 bits, as bitsandbytes does: in blocks of 256, embeddings
   * and tensors of less than 4,096 values as floats. Expected: adamw_torch_fused or adamw_8bit;
   * default adamw_torch_fused.
   */
  optim?: Training["optim"];
  /**
   * The type of matrix products: bfloat16 and float16 round both sides of those of linear layers,
   * adapters and the head, in training and generation; sums and all else stay float32; with float16
   * the loss is scaled. Expected: float32, bfloat16 or float16; default float32.
   */
  compute_dtype?: Training["compute_dtype"];
  /**
   * How weights that are trained in bfloat16 (model.dtype without lora) are rounded after a step:
   * stochastic (null) takes 2 bytes a weight, kahan 4 with its compensation. Expected: stochastic
   * or kahan or null; default null.
   */
  bf16_rounding?: Training["bf16_rounding"];
  /** AdamW's weight decay. Expected: a number ≥ 0; default 0. */
  weight_decay?: Training["weight_decay"];
  /** Decay of the first moment. Expected: a number ≥ 0 and < 1; default 0.9. */
  adam_beta1?: Training["adam_beta1"];
  /** Decay of the second moment. Expected: a number ≥ 0 and < 1; default 0.999. */
  adam_beta2?: Training["adam_beta2"];
  /** Added to the root of the second moment. Expected: a number > 0; default 1e-8. */
  adam_epsilon?: Training["adam_epsilon"];
  /** Clip the gradient of a step to this L2 norm; 0 = never. Expected: a number ≥ 0; default 1. */
  max_grad_norm?: Training["max_grad_norm"];
  /**
   * May recompute activations in the backward instead of keeping them (same numbers, less memory):
   * done when the run would take more than half of the memory otherwise. Expected: true or false;
   * default true.
   */
  gradient_checkpointing?: Training["gradient_checkpointing"];
  /** Seed of everything random except data.seed. Expected: an integer ≥ 0; default 42. */
  seed?: Training["seed"];
  /** Seed of the order of prompts; null = seed. Expected: an integer ≥ 0 or null; default null. */
  data_seed?: Training["data_seed"];
  /** A new order every epoch. Expected: true or false; default true. */
  shuffle_dataset?: Training["shuffle_dataset"];
  /** When a line of metrics is logged. Expected: no, steps or epoch; default steps. */
  logging_strategy?: Training["logging_strategy"];
  /** Steps between two log lines; < 1 = share of all steps. Expected: a number > 0; default 10. */
  logging_steps?: Training["logging_steps"];
  /** Log the first step too. Expected: true or false; default false. */
  logging_first_step?: Training["logging_first_step"];
  /**
   * Leave a loss that is NaN or infinite out of the logged mean and of train_loss; false: it makes
   * them so, and files hold null. Expected: true or false; default true.
   */
  logging_nan_inf_filter?: Training["logging_nan_inf_filter"];
  /**
   * When held-out problems are measured while training. Expected: no, steps or epoch; default no.
   */
  eval_strategy?: Training["eval_strategy"];
  /**
   * Steps between two evaluations; < 1 = share of all steps; null = logging_steps. Expected: a
   * number > 0 or null; default null.
   */
  eval_steps?: Training["eval_steps"];
  /** Evaluate before the first step. Expected: true or false; default false. */
  eval_on_start?: Training["eval_on_start"];
  /**
   * Steps, or epochs with eval_strategy epoch, before the first evaluation. Expected: a number ≥ 0;
   * default 0.
   */
  eval_delay?: Training["eval_delay"];
  /**
   * When a checkpoint is written; best = when the metric has improved. Expected: no, steps, epoch
   * or best; default steps.
   */
  save_strategy?: Training["save_strategy"];
  /**
   * Steps between two checkpoints; < 1 = share of all steps. Expected: a number > 0; default 500.
   */
  save_steps?: Training["save_steps"];
  /** Checkpoints kept; null = all. Expected: an integer ≥ 1 or null; default null. */
  save_total_limit?: Training["save_total_limit"];
  /**
   * Checkpoints can not be resumed from, and are smaller. Expected: true or false; default false.
   */
  save_only_model?: Training["save_only_model"];
  /** The best checkpoint is the result of the run. Expected: true or false; default false. */
  load_best_model_at_end?: Training["load_best_model_at_end"];
  /**
   * Evaluation metric that says which checkpoint is best; null = accuracy (TRL: loss, which says
   * nothing in GRPO). Expected: a name or null; default null.
   */
  metric_for_best_model?: Training["metric_for_best_model"];
  /**
   * Whether more of it is better; null = unless its name ends in loss. Expected: true or false or
   * null; default null.
   */
  greater_is_better?: Training["greater_is_better"];
  /**
   * A checkpoint folder; true: the newest of output_dir; false: start anew. Expected: a name, true
   * or false or null; default false.
   */
  resume_from_checkpoint?: Training["resume_from_checkpoint"];
  /** Seconds that a reward has for one value. Expected: a number > 0; default 5. */
  reward_timeout?: Training["reward_timeout"];
  /**
   * Keep completions in the run's folder, and print some. Expected: true or false; default true.
   */
  log_completions?: Training["log_completions"];
  /**
   * Completions printed at a time; null = all of the prompt (TRL's default). Expected: an integer ≥
   * 0 or null; default 4.
   */
  num_completions_to_print?: Training["num_completions_to_print"];
  /** G, the completions of one prompt. Expected: an integer ≥ 2; default 8. */
  num_generations?: Training["num_generations"];
  /**
   * Completions of one problem in evaluation while training, 1 or more; null = num_generations.
   * Expected: an integer ≥ 1 or null; default null.
   */
  num_generations_eval?: Training["num_generations_eval"];
  /** Tokens of a completion at most. Expected: an integer ≥ 1; default 512. */
  max_completion_length?: Training["max_completion_length"];
  /**
   * Longer prompts are refused, or cut (truncate_prompts); null = no prompt is too long. Expected:
   * an integer ≥ 1 or null; default null.
   */
  max_prompt_length?: Training["max_prompt_length"];
  /**
   * Values for the chat template, for example {enable_thinking: false} for Qwen3; those of a row of
   * the data go before them. Expected: a map; default {}.
   */
  chat_template_kwargs?: Training["chat_template_kwargs"];
  /**
   * left: longer prompts keep their last max_prompt_length tokens; null: they are refused.
   * Expected: left or null; default null.
   */
  truncate_prompts?: Training["truncate_prompts"];
  /** Logits are divided by it before a token is drawn. Expected: a number > 0; default 1. */
  temperature?: Training["temperature"];
  /**
   * Nucleus sampling: only the likeliest tokens that have this probability together; 1 = off.
   * Expected: a number > 0 and ≤ 1; default 1.
   */
  top_p?: Training["top_p"];
  /** Only the k likeliest tokens; 0 = off. Expected: an integer ≥ 0; default 0. */
  top_k?: Training["top_k"];
  /**
   * Only tokens with min_p × the probability of the likeliest, or more; null = all. Expected: a
   * number ≥ 0 and ≤ 1 or null; default null.
   */
  min_p?: Training["min_p"];
  /**
   * Logits of tokens that were in the prompt or the completion are divided by it if positive,
   * multiplied by it if negative; 1 = off. Expected: a number > 0; default 1.
   */
  repetition_penalty?: Training["repetition_penalty"];
  /** No end-of-text token before so many tokens. Expected: an integer ≥ 0; default 0. */
  min_new_tokens?: Training["min_new_tokens"];
  /**
   * Texts after which a completion ends; the text is kept. Expected: a list of text; default [].
   */
  stop?: string | string[];
  /** Seed of sampling; null = seed. Expected: an integer ≥ 0 or null; default null. */
  generation_seed?: Training["generation_seed"];
  /**
   * Completions generated at a time; null: steps_per_generation decides. Expected: an integer ≥ 1
   * or null; default null.
   */
  generation_batch_size?: Training["generation_batch_size"];
  /**
   * Micro-steps that a generation is cut into; null = gradient_accumulation_steps. Expected: an
   * integer ≥ 1 or null; default null.
   */
  steps_per_generation?: Training["steps_per_generation"];
  /** μ, how often a generation is trained on. Expected: an integer ≥ 1; default 1. */
  num_iterations?: Training["num_iterations"];
  /**
   * Old log-probabilities are those of sampling, without a forward pass for them. Expected: true or
   * false; default false.
   */
  use_rollout_log_probs?: Training["use_rollout_log_probs"];
  /**
   * Sampling keeps its activations, and the first step on a generation trains on them without a
   * forward pass through the layers: faster, with other last digits, and with more memory.
   * Expected: true or false; default false.
   */
  use_rollout_activations?: Training["use_rollout_activations"];
  /**
   * Replace groups whose rewards are all equal by new ones (DAPO). Expected: true or false; default
   * false.
   */
  dynamic_sampling?: Training["dynamic_sampling"];
  /**
   * Generations for one batch at most, where dynamic_sampling is on. Expected: an integer ≥ 1;
   * default 4.
   */
  dynamic_sampling_max_batches?: Training["dynamic_sampling_max_batches"];
  /**
   * Form of the loss and its normalisation. Expected: grpo, dapo, dr_grpo, bnpo, cispo, sapo, luspo
   * or vespo; default dapo.
   */
  loss_type?: Training["loss_type"];
  /**
   * Whether each token or each completion has a ratio (sequence: GSPO). Expected: token or
   * sequence; default token.
   */
  importance_sampling_level?: Training["importance_sampling_level"];
  /** KL coefficient; 0: no reference model. Expected: a number ≥ 0; default 0. */
  beta?: Training["beta"];
  /** Weight the KL term by the importance ratio. Expected: true or false; default true. */
  use_bias_correction_kl?: Training["use_bias_correction_kl"];
  /**
   * The ratio is clipped at 1 − epsilon, and at 1 + epsilon_high. Expected: a number ≥ 0; default
   * 0.2.
   */
  epsilon?: Training["epsilon"];
  /**
   * Upper clip; null = epsilon; with cispo the cap of the ratio itself. Expected: a number ≥ 0 or
   * null; default null.
   */
  epsilon_high?: Training["epsilon_high"];
  /**
   * Upper bound of the ratio in the unclipped term; null: none. Expected: a number > 0 or null;
   * default null.
   */
  delta?: Training["delta"];
  /**
   * Divide advantages by the standard deviation of the group, of the batch, or not. Expected:
   * group, batch or none; default group.
   */
  scale_rewards?: Training["scale_rewards"];
  /**
   * Normalise the weighted sum of the rewards, or each reward (GDPO). Expected: sum_then_normalize
   * or normalize_then_sum; default sum_then_normalize.
   */
  multi_objective_aggregation?: Training["multi_objective_aggregation"];
  /** Do not train on completions that were cut off. Expected: true or false; default false. */
  mask_truncated_completions?: Training["mask_truncated_completions"];
  /**
   * Train on the share of tokens with the highest entropy; 1: all. Expected: a number ≥ 0 and ≤ 1;
   * default 1.
   */
  top_entropy_quantile?: Training["top_entropy_quantile"];
  /** Coefficient of the entropy bonus; 0 = none. Expected: a number ≥ 0; default 0. */
  entropy_coef?: Training["entropy_coef"];
  /**
   * Move entropy_coef after each step, by whether the entropy is above entropy_target. Expected:
   * true or false; default false.
   */
  use_adaptive_entropy?: Training["use_adaptive_entropy"];
  /** Lowest coefficient of the adaptive bonus. Expected: a number ≥ 0; default 0. */
  entropy_coef_min?: Training["entropy_coef_min"];
  /** Highest coefficient of the adaptive bonus. Expected: a number ≥ 0; default 1. */
  entropy_coef_max?: Training["entropy_coef_max"];
  /** Change of the coefficient after each step. Expected: a number ≥ 0; default 0.005. */
  entropy_coef_delta?: Training["entropy_coef_delta"];
  /**
   * Mean entropy of a token in nats, above which the adaptive bonus is not applied. Expected: a
   * number ≥ 0; default 0.2.
   */
  entropy_target?: Training["entropy_target"];
  /**
   * Leave out completions with a negative advantage where the mean log-probability of their tokens
   * has fallen by more than this since sampling; null: none. Expected: a number ≥ 0 or null;
   * default null.
   */
  off_policy_mask_threshold?: Training["off_policy_mask_threshold"];
  /**
   * Correct the loss where another engine or an older policy sampled (generation.backend).
   * Expected: true or false; default true.
   */
  vllm_importance_sampling_correction?: Training["vllm_importance_sampling_correction"];
  /**
   * One ratio per token or per completion; outside the bounds it is clamped (truncate) or 0 (mask).
   * Expected: token_truncate, token_mask, sequence_truncate or sequence_mask; default
   * sequence_mask.
   */
  vllm_importance_sampling_mode?: Training["vllm_importance_sampling_mode"];
  /** Upper bound of that ratio; null: none. Expected: a number > 0 or null; default 3. */
  vllm_importance_sampling_clip_max?: Training["vllm_importance_sampling_clip_max"];
  /** Lower bound of that ratio; null: none. Expected: a number ≥ 0 or null; default null. */
  vllm_importance_sampling_clip_min?: Training["vllm_importance_sampling_clip_min"];
  /** sapo: slope where the advantage is not positive. Expected: a number > 0; default 1.05. */
  sapo_temperature_neg?: Training["sapo_temperature_neg"];
  /** sapo: slope where the advantage is positive. Expected: a number > 0; default 1. */
  sapo_temperature_pos?: Training["sapo_temperature_pos"];
  /** vespo: k where the advantage is not negative. Expected: a number ≥ 0; default 2. */
  vespo_k_pos?: Training["vespo_k_pos"];
  /** vespo: λ where the advantage is not negative. Expected: a number ≥ 0; default 3. */
  vespo_lambda_pos?: Training["vespo_lambda_pos"];
  /** vespo: k where the advantage is negative. Expected: a number ≥ 0; default 3. */
  vespo_k_neg?: Training["vespo_k_neg"];
  /** vespo: λ where the advantage is negative. Expected: a number ≥ 0; default 2. */
  vespo_lambda_neg?: Training["vespo_lambda_neg"];
  /**
   * Every ref_model_sync_steps steps, ref ← α·policy + (1 − α)·ref (full fine-tuning only).
   * Expected: true or false; default false.
   */
  sync_ref_model?: Training["sync_ref_model"];
  /**
   * α, the share of the policy in each update of the reference. Expected: a number ≥ 0 and ≤ 1;
   * default 0.6.
   */
  ref_model_mixup_alpha?: Training["ref_model_mixup_alpha"];
  /** Steps between two updates of the reference. Expected: an integer ≥ 1; default 512. */
  ref_model_sync_steps?: Training["ref_model_sync_steps"];
  /** true: train without dropout, whatever lora says. Expected: true or false; default false. */
  disable_dropout?: Training["disable_dropout"];
  /**
   * Upload the model to the Hub while it trains and at the end (docs/upload.md). Expected: true or
   * false; default false.
   */
  push_to_hub?: Training["push_to_hub"];
  /**
   * USER/NAME of the repository, or NAME; null = the name of output_dir. Expected: a name or null;
   * default null.
   */
  hub_model_id?: Training["hub_model_id"];
  /**
   * A token that may write, in place of HF_TOKEN; never written to a file. Expected: a name or
   * null; default null.
   */
  hub_token?: Training["hub_token"];
  /**
   * Whether a repository that is made is private; null = the default of the account. Expected: true
   * or false or null; default null.
   */
  hub_private_repo?: Training["hub_private_repo"];
  /**
   * What push_to_hub uploads: the model at the end; at every save too; with the newest checkpoint
   * in last-checkpoint/; with every checkpoint. Expected: end, every_save, checkpoint or
   * all_checkpoints; default every_save.
   */
  hub_strategy?: Training["hub_strategy"];
  /** Branch of the repository; null = main. Expected: a name or null; default null. */
  hub_revision?: Training["hub_revision"];
  /** Weights of the rewards, in order. */
  reward_weights?: number[] | null;
  /** Overrides the keys of sampling by name; also stop, seed, min_new_tokens. */
  generation_kwargs?: Record<string, unknown>;
}
