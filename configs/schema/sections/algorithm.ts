/** What GRPO computes. */
import type { LossType } from "../loss_types.ts";

/** How the ratio between the policy and the sampler is taken and bounded. */
export type ImportanceMode =
  | "token_truncate"
  | "token_mask"
  | "sequence_truncate"
  | "sequence_mask";

/** How the policy is trained on completions: GRPO and its variants. */
export interface AlgorithmSection {
  /** Completions generated at a time; null: steps_per_generation decides. */
  generation_batch_size: number | null;
  /** Micro-steps that a generation is cut into; null = gradient_accumulation_steps. */
  steps_per_generation: number | null;
  /** μ, how often a generation is trained on. */
  num_iterations: number;
  /** Old log-probabilities are those of sampling, without a forward pass for them. */
  use_rollout_log_probs: boolean;
  /**
   * Sampling keeps its activations, and the first step on a generation trains on them without a
   * forward pass through the layers: faster, with other last digits, and with more memory.
   */
  use_rollout_activations: boolean;
  /** Replace groups whose rewards are all equal by new ones (DAPO). */
  dynamic_sampling: boolean;
  /** Generations for one batch at most, where dynamic_sampling is on. */
  dynamic_sampling_max_batches: number;
  /** Form of the loss and its normalisation. */
  loss_type: LossType;
  /** Whether each token or each completion has a ratio (sequence: GSPO). */
  importance_sampling_level: "token" | "sequence";
  /** KL coefficient; 0: no reference model. */
  beta: number;
  /** Weight the KL term by the importance ratio. */
  use_bias_correction_kl: boolean;
  /** The ratio is clipped at 1 − epsilon, and at 1 + epsilon_high. */
  epsilon: number;
  /** Upper clip; null = epsilon; with cispo the cap of the ratio itself. */
  epsilon_high: number | null;
  /** Upper bound of the ratio in the unclipped term; null: none. */
  delta: number | null;
  /** Divide advantages by the standard deviation of the group, of the batch, or not. */
  scale_rewards: "group" | "batch" | "none";
  /** Normalise the weighted sum of the rewards, or each reward (GDPO). */
  multi_objective_aggregation: "sum_then_normalize" | "normalize_then_sum";
  /** Do not train on completions that were cut off. */
  mask_truncated_completions: boolean;
  /** Train on the share of tokens with the highest entropy; 1: all. */
  top_entropy_quantile: number;
  /** Coefficient of the entropy bonus; 0 = none. */
  entropy_coef: number;
  /** Move entropy_coef after each step, by whether the entropy is above entropy_target. */
  use_adaptive_entropy: boolean;
  /** Lowest coefficient of the adaptive bonus. */
  entropy_coef_min: number;
  /** Highest coefficient of the adaptive bonus. */
  entropy_coef_max: number;
  /** Change of the coefficient after each step. */
  entropy_coef_delta: number;
  /** Mean entropy of a token in nats, above which the adaptive bonus is not applied. */
  entropy_target: number;
  /**
   * Leave out completions with a negative advantage where the mean log-probability of their tokens
   * has fallen by more than this since sampling; null: none.
   */
  off_policy_mask_threshold: number | null;
  /** Correct the loss where another engine or an older policy sampled (generation.backend). */
  vllm_importance_sampling_correction: boolean;
  /**
   * One ratio per token or per completion; outside the bounds it is clamped (truncate) or 0 (mask).
   */
  vllm_importance_sampling_mode: ImportanceMode;
  /** Upper bound of that ratio; null: none. */
  vllm_importance_sampling_clip_max: number | null;
  /** Lower bound of that ratio; null: none. */
  vllm_importance_sampling_clip_min: number | null;
  /** sapo: slope where the advantage is not positive. */
  sapo_temperature_neg: number;
  /** sapo: slope where the advantage is positive. */
  sapo_temperature_pos: number;
  /** vespo: k where the advantage is not negative. */
  vespo_k_pos: number;
  /** vespo: λ where the advantage is not negative. */
  vespo_lambda_pos: number;
  /** vespo: k where the advantage is negative. */
  vespo_k_neg: number;
  /** vespo: λ where the advantage is negative. */
  vespo_lambda_neg: number;
  /** Every ref_model_sync_steps steps, ref ← α·policy + (1 − α)·ref (full fine-tuning only). */
  sync_ref_model: boolean;
  /** α, the share of the policy in each update of the reference. */
  ref_model_mixup_alpha: number;
  /** Steps between two updates of the reference. */
  ref_model_sync_steps: number;
  /** true: train without dropout, whatever lora says. */
  disable_dropout: boolean;
}
