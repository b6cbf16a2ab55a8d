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
  /** At most one of these two is set; see `configs/batch_sizes.ts`. */
  generation_batch_size: number | null;
  /** Micro-steps that a generation batch is cut into; null = gradient_accumulation_steps. */
  steps_per_generation: number | null;
  /** μ: how many times a generation batch is trained on. */
  num_iterations: number;
  /** Saves the forward pass for old log-probabilities where a batch is for several steps. */
  use_rollout_log_probs: boolean;
  /** Whether the first step on a generation trains on the activations of sampling. */
  use_rollout_activations: boolean;
  /** Whether groups whose rewards are all equal are replaced by new ones (DAPO). */
  dynamic_sampling: boolean;
  /** Maximum number of generations for one batch, with dynamic_sampling. */
  dynamic_sampling_max_batches: number;
  /** Form of the loss and its normalisation (`training/loss/loss_types.ts`). */
  loss_type: LossType;
  /** Whether a token or a whole completion (GSPO) has an importance ratio. */
  importance_sampling_level: "token" | "sequence";
  /** KL coefficient; 0 = no reference model. */
  beta: number;
  /** Whether the KL term is weighted by the importance ratio. */
  use_bias_correction_kl: boolean;
  /** The ratio is clipped at 1 − epsilon, and at 1 + epsilon_high. */
  epsilon: number;
  /** null = epsilon. For cispo it is the cap of the ratio itself. */
  epsilon_high: number | null;
  /** Upper bound of the ratio in the unclipped term too; null = none. */
  delta: number | null;
  /** Advantages are divided by the standard deviation of the group, of the batch, or not at all. */
  scale_rewards: "group" | "batch" | "none";
  /**
   * Whether the weighted sum of the rewards is normalised, or each reward before the sum (GDPO).
   */
  multi_objective_aggregation: "sum_then_normalize" | "normalize_then_sum";
  /** Whether completions that were cut off are left out of the loss. */
  mask_truncated_completions: boolean;
  /** The share of tokens, those with the highest entropy, that are trained on; 1 = all. */
  top_entropy_quantile: number;
  /** Coefficient of the entropy bonus; 0 = none. */
  entropy_coef: number;
  /** Whether entropy_coef moves after each step, by whether the entropy is above its target. */
  use_adaptive_entropy: boolean;
  /** Lowest adaptive coefficient. */
  entropy_coef_min: number;
  /** Highest adaptive coefficient. */
  entropy_coef_max: number;
  /** How much the adaptive coefficient moves after each step. */
  entropy_coef_delta: number;
  /** Mean entropy of a token in nats; above it, the adaptive bonus is not applied. */
  entropy_target: number;
  /**
   * A completion with a negative advantage is left out where the mean log-probability of its tokens
   * has fallen by more than this since sampling; null = none is.
   */
  off_policy_mask_threshold: number | null;
  /** Whether the loss corrects for another engine or an older policy that sampled. */
  vllm_importance_sampling_correction: boolean;
  /** A ratio per token or per completion; outside the bounds it is clamped, or 0. */
  vllm_importance_sampling_mode: ImportanceMode;
  /** null = no upper bound. */
  vllm_importance_sampling_clip_max: number | null;
  /** null = no lower bound. */
  vllm_importance_sampling_clip_min: number | null;
  /** SAPO: slope of the gate where the advantage is not positive. */
  sapo_temperature_neg: number;
  /** SAPO: slope of the gate where the advantage is positive. */
  sapo_temperature_pos: number;
  /** VESPO: k where the advantage is not negative. */
  vespo_k_pos: number;
  /** VESPO: λ where the advantage is not negative. */
  vespo_lambda_pos: number;
  /** VESPO: k where the advantage is negative. */
  vespo_k_neg: number;
  /** VESPO: λ where the advantage is negative. */
  vespo_lambda_neg: number;
  /** Only for full fine-tuning: every ref_model_sync_steps steps, ref ← α·policy + (1 − α)·ref. */
  sync_ref_model: boolean;
  /** α, the share of the policy in each update of the reference. */
  ref_model_mixup_alpha: number;
  /** Steps between two updates of the reference. */
  ref_model_sync_steps: number;
  /** true: dropout (of adapters) is off during training too. */
  disable_dropout: boolean;
}
