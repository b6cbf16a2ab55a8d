/**
 * The loss types of GRPO: one entry for each name that the configuration accepts, with everything
 * in which the types differ. What they share (masks, KL term, entropy bonus) is in `loss.ts`.
 *
 * To add a loss type:
 * 1. its name and the default values of its parameters in `configs/schema/loss_types.ts`;
 * 2. an entry here;
 * 3. where it needs one, a new term.
 *
 * All are as `GRPOTrainer._compute_loss` of TRL 1.16 computes them, except for the normalisation:
 * TRL divides by the average step of the generation batch, this code by the step itself (the
 * completions of one optimizer step). The header of `loss.ts` says why.
 */
import type { LossType } from "../../configs/schema/loss_types.ts";
import type { AlgorithmSection } from "../../configs/schema/run_config.ts";

/** The keys of the configuration that decide the policy-gradient term. */
export type PolicySettings = Pick<
  AlgorithmSection,
  | "loss_type"
  | "importance_sampling_level"
  | "epsilon"
  | "epsilon_high"
  | "delta"
  | "sapo_temperature_neg"
  | "sapo_temperature_pos"
  | "vespo_k_pos"
  | "vespo_lambda_pos"
  | "vespo_k_neg"
  | "vespo_lambda_neg"
>;

/** A token's term; its differential is `byRatio`·d(ln ratio) + `direct`·d(logp). */
interface PolicyTerm {
  value: number;
  byRatio: number;
  direct: number;
}

/**
 * The term of one token.
 * @param ratio importance ratio c = exp(logp − old logp), of the token or of its row
 * @param rowWeight weight of the token's row, without gradient (VESPO's φ)
 */
type TermFunction = (
  settings: PolicySettings,
  ratio: number,
  advantage: number,
  logp: number,
  rowWeight: number,
) => PolicyTerm;

/**
 * PPO's clipped objective: −min(c₁·A, c₂·A) with c₁ = min(c, delta) and
 * c₂ = clamp(c, 1 − ε, 1 + ε_high). Where both are equal, the derivative is the mean of both
 * derivatives, as in torch.
 */
const clippedTerm: TermFunction = (settings, ratio, advantage) => {
  const low = 1 - settings.epsilon, high = 1 + (settings.epsilon_high ?? settings.epsilon);
  const delta = settings.delta ?? Infinity;
  const unclipped = Math.min(ratio, delta), clipped = clamp(ratio, low, high);
  const unclippedSlope = ratio <= delta ? ratio : 0;
  const clippedSlope = ratio >= low && ratio <= high ? ratio : 0;
  const a = unclipped * advantage, b = clipped * advantage;
  const slope = a < b ? unclippedSlope : a > b ? clippedSlope : (unclippedSlope + clippedSlope) / 2;
  return { value: -Math.min(a, b), byRatio: -slope * advantage, direct: 0 };
};

/** CISPO: −w·A·logp with the weight w = min(c, ε_high), through which no gradient flows. */
const cappedRatioTerm: TermFunction = (settings, ratio, advantage, logp) => {
  const weight = Math.min(ratio, settings.epsilon_high ?? settings.epsilon);
  return { value: -weight * advantage * logp, byRatio: 0, direct: -weight * advantage };
};

/**
 * SAPO: −(4/τ)·σ(τ·(c − 1))·A, where σ is the logistic function and the temperature τ depends on
 * the sign of A.
 */
const softGateTerm: TermFunction = (settings, ratio, advantage) => {
  const temperature = advantage > 0 ? settings.sapo_temperature_pos : settings.sapo_temperature_neg;
  const gate = 1 / (1 + Math.exp(-temperature * (ratio - 1)));
  return {
    value: -(4 / temperature) * gate * advantage,
    byRatio: -4 * gate * (1 - gate) * ratio * advantage,
    direct: 0,
  };
};

/** VESPO: −φ·A·logp with the row's weight φ ({@link vespoWeight}). */
const weightedRowTerm: TermFunction = (_settings, _ratio, advantage, logp, rowWeight) => ({
  value: -rowWeight * advantage * logp,
  byRatio: 0,
  direct: -rowWeight * advantage,
});

const LOG_TINY = Math.log(1e-8);

/**
 * VESPO's weight φ of a row, without gradient: φ = exp(λ + k·q − λ·e^q), where q is the clamped sum
 * of the row's log-ratios. k and λ depend on the sign of the advantage.
 * @param logRatios log-ratios of the row's unmasked tokens
 * @param samplerRatios their importance ratios against the sampler (`importance_ratio.ts`), whose
 *   logarithms are added to the sum; none where the policy itself sampled
 */
function vespoWeight(
  settings: PolicySettings,
  logRatios: Iterable<number>,
  samplerRatios: Iterable<number>,
  advantage: number,
): number {
  let sum = 0;
  for (const value of logRatios) sum += clamp(value, -20, 20);
  for (const value of samplerRatios) sum += clamp(Math.log(value), LOG_TINY, 20);
  const q = clamp(sum, LOG_TINY, 20);
  const k = advantage >= 0 ? settings.vespo_k_pos : settings.vespo_k_neg;
  const lambda = advantage >= 0 ? settings.vespo_lambda_pos : settings.vespo_lambda_neg;
  const phi = Math.exp(lambda + k * q - lambda * Math.exp(q));
  return Number.isFinite(phi) ? phi : 0;
}

function clamp(x: number, low: number, high: number): number {
  return Math.min(Math.max(x, low), high);
}

/**
 * How the terms of tokens add up to the loss:
 * - "row_mean": the mean over rows of each row's mean over its tokens;
 * - "row_sum": the mean over rows of each row's sum over its tokens;
 * - "max_length": the sum over all tokens, divided by rows · max_completion_length;
 * - "micro_batch_tokens": the mean over micro-batches of each one's mean over its tokens;
 * - "step_tokens": the mean over all tokens of the optimizer step.
 */
export type Normalization =
  | "row_mean"
  | "row_sum"
  | "max_length"
  | "micro_batch_tokens"
  | "step_tokens";

/**
 * How the importance ratio is limited, which decides the metrics that count clipped tokens:
 * - "two-sided": to [1 − ε, 1 + ε_high], and to at most `delta`;
 * - "upper": to at most ε_high;
 * - "none": not at all.
 */
export type Clipping = "two-sided" | "upper" | "none";

export interface LossRules {
  term: TermFunction;
  normalization: Normalization;
  clipping: Clipping;
  /** A weight of each whole row, and the metric that its mean over the rows is logged as. */
  rowWeight: { weight: typeof vespoWeight; metric: string } | null;
}

const CLIPPED = { term: clippedTerm, clipping: "two-sided", rowWeight: null } as const;

export const LOSS_RULES: Readonly<Record<LossType, LossRules>> = {
  /** Group Relative Policy Optimization: Shao et al. 2024, "DeepSeekMath". */
  grpo: { ...CLIPPED, normalization: "row_mean" },
  /** Yu et al. 2025, "DAPO": all tokens weigh the same; `epsilon_high` is its "clip higher". */
  dapo: { ...CLIPPED, normalization: "step_tokens" },
  /** Liu et al. 2025, "Understanding R1-Zero-Like Training": no bias by the completion's length. */
  dr_grpo: { ...CLIPPED, normalization: "max_length" },
  /** TRL's name for the token mean over each micro-batch by itself. */
  bnpo: { ...CLIPPED, normalization: "micro_batch_tokens" },
  /** Clipped Importance Sampling Policy Optimization: MiniMax 2025, "MiniMax-M1". */
  cispo: {
    term: cappedRatioTerm,
    normalization: "step_tokens",
    clipping: "upper",
    rowWeight: null,
  },
  /** Soft Adaptive Policy Optimization: Qwen 2025. */
  sapo: { term: softGateTerm, normalization: "row_mean", clipping: "none", rowWeight: null },
  /** Length-Unbiased Sequence Policy Optimization, 2026: meant for sequence-level ratios. */
  luspo: { ...CLIPPED, normalization: "row_sum" },
  /** Variational Sequence-level Soft Policy Optimization, 2026. */
  vespo: {
    term: weightedRowTerm,
    normalization: "step_tokens",
    clipping: "none",
    rowWeight: { weight: vespoWeight, metric: "vespo/phi_seq_mean" },
  },
};

export interface StepTotals {
  /** Unmasked tokens of all rows. */
  tokens: number;
  /** Rows, including those that are masked completely. */
  rows: number;
  microBatches: number;
  /** The configuration's max_completion_length. */
  maxCompletionLength: number;
  /** Tokens of the entropy bonus; default: those of the micro-batch × `microBatches`. */
  entropyTokens?: number;
}

/** @param rowTokens unmasked tokens of the row; `microBatchTokens`: of the micro-batch */
export function tokenWeight(
  normalization: Normalization,
  step: StepTotals,
  rowTokens: number,
  microBatchTokens: number,
): number {
  switch (normalization) {
    case "row_mean":
      return 1 / (Math.max(rowTokens, 1) * step.rows);
    case "row_sum":
      return 1 / step.rows;
    case "max_length":
      return 1 / (step.rows * step.maxCompletionLength);
    case "micro_batch_tokens":
      return 1 / (Math.max(microBatchTokens, 1) * step.microBatches);
    case "step_tokens":
      return 1 / Math.max(step.tokens, 1);
    default:
      return normalization satisfies never;
  }
}
