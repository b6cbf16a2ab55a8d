/** Keys of GRPO and its variants (TRL 1.16's GRPOConfig): section `training`. */
import { keys } from "../types/key_spec.ts";
import { LOSS_TYPE_PARAMETERS, LOSS_TYPES } from "./loss_types.ts";
import { choice } from "../types/value_types.ts";

const { sapo, vespo } = LOSS_TYPE_PARAMETERS;
/** One ratio per token or per completion; outside the bounds it is clamped or 0. */
const RATIOS = choice(["token_truncate", "token_mask", "sequence_truncate", "sequence_mask"]);
/** The value that a completion's reward is compared with (`training/loss/advantages.ts`). */
const ESTIMATOR = choice(
  ["grpo", "rloo", "reinforce_plus_plus", "reinforce_plus_plus_baseline", "remax", "opo", "maxrl"],
);

const TYPES = { loss: choice(LOSS_TYPES), ratios: RATIOS, estimator: ESTIMATOR };

export const ALGORITHM_KEYS = keys(TYPES, {
  generation_batch_size: `int>=1? = null -- completions generated at a time; null:
    steps_per_generation decides`,
  steps_per_generation: `int>=1? = null -- micro-steps that a generation is cut into; null =
    gradient_accumulation_steps`,
  num_iterations: "int>=1 = 1 -- μ, how often a generation is trained on",
  use_rollout_log_probs: `bool = false -- old log-probabilities are those of sampling, without a
    forward pass for them`,
  use_rollout_activations: `bool = false -- sampling keeps its activations, and the first step on
    a generation trains on them without a forward pass through the layers: faster, with other last
    digits, and with more memory`,
  dynamic_sampling: "bool = false -- replace groups whose rewards are all equal by new ones (DAPO)",
  dynamic_sampling_max_batches: `int>=1 = 4 -- generations for one batch at most, where
    dynamic_sampling is on`,
  loss_type: "loss = dapo -- form of the loss and its normalisation",
  importance_sampling_level: `one token|sequence = token -- whether each token or each completion
    has a ratio (sequence: GSPO)`,
  beta: "number>=0 = 0 -- KL coefficient; 0: no reference model",
  use_bias_correction_kl: "bool = true -- weight the KL term by the importance ratio",
  epsilon: "number>=0 = 0.2 -- the ratio is clipped at 1 − epsilon, and at 1 + epsilon_high",
  epsilon_high: `number>=0? = null -- upper clip; null = epsilon; with cispo the cap of the ratio
    itself`,
  delta: "number>0? = null -- upper bound of the ratio in the unclipped term; null: none",
  advantage_estimator: `estimator = grpo -- what a reward is compared with: the mean of its group
    (grpo; divided by it: maxrl; weighted by length: opo), of the group's others (rloo), of the
    batch (reinforce_plus_plus; after that of the group: …_baseline), the greedy completion (remax)`,
  scale_rewards: `one group|batch|none same true=group|false=none = group -- divide advantages by
    the standard deviation of the group, of the batch, or not (advantage_estimator grpo)`,
  multi_objective_aggregation: `one sum_then_normalize|normalize_then_sum = sum_then_normalize --
    normalise the weighted sum of the rewards, or each reward (GDPO)`,
  mask_truncated_completions: "bool = false -- do not train on completions that were cut off",
  top_entropy_quantile: `number>=0<=1 = 1 -- train on the share of tokens with the highest
    entropy; 1: all`,
  entropy_coef: "number>=0 = 0 -- coefficient of the entropy bonus; 0 = none",
  use_adaptive_entropy: `bool = false -- move entropy_coef after each step, by whether the entropy
    is above entropy_target`,
  entropy_coef_min: "number>=0 = 0 -- lowest coefficient of the adaptive bonus",
  entropy_coef_max: "number>=0 = 1 -- highest coefficient of the adaptive bonus",
  entropy_coef_delta: "number>=0 = 0.005 -- change of the coefficient after each step",
  entropy_target: `number>=0 = 0.2 -- mean entropy of a token in nats, above which the adaptive
    bonus is not applied`,
  off_policy_mask_threshold: `number>=0? = null -- leave out completions with a negative advantage
    where the mean log-probability of their tokens has fallen by more than this since sampling;
    null: none`,
  vllm_importance_sampling_correction: `bool = true -- correct the loss where another engine or an
    older policy sampled (generation.backend), or rounded activations, keys or values
    (generation.activations, generation.kv_cache_dtype)`,
  vllm_importance_sampling_mode: `ratios = sequence_mask -- one ratio per token or per completion;
    outside the bounds it is clamped (truncate) or 0 (mask)`,
  vllm_importance_sampling_clip_max: `number>0? = 3 -- upper bound of that ratio; null: none
    [vllm_importance_sampling_cap, training.vllm_importance_sampling_cap]`,
  vllm_importance_sampling_clip_min: "number>=0? = null -- lower bound of that ratio; null: none",
  sapo_temperature_neg: `number>0 = ${sapo.sapo_temperature_neg} -- sapo: slope where the
    advantage is not positive`,
  sapo_temperature_pos: `number>0 = ${sapo.sapo_temperature_pos} -- sapo: slope where the
    advantage is positive`,
  vespo_k_pos: `number>=0 = ${vespo.vespo_k_pos} -- vespo: k where the advantage is not negative`,
  vespo_lambda_pos: `number>=0 = ${vespo.vespo_lambda_pos} -- vespo: λ where the advantage is not
    negative`,
  vespo_k_neg: `number>=0 = ${vespo.vespo_k_neg} -- vespo: k where the advantage is negative`,
  vespo_lambda_neg: `number>=0 = ${vespo.vespo_lambda_neg} -- vespo: λ where the advantage is
    negative`,
  sync_ref_model: `bool = false -- every ref_model_sync_steps steps, ref ← α·policy + (1 − α)·ref
    (full fine-tuning only)`,
  ref_model_mixup_alpha: `number>=0<=1 = 0.6 -- α, the share of the policy in each update of the
    reference`,
  ref_model_sync_steps: "int>=1 = 512 -- steps between two updates of the reference",
  disable_dropout: "bool = false -- true: train without dropout, whatever lora says",
});
