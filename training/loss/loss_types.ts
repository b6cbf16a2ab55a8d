/**
 * The loss types of GRPO: one entry for each name that the configuration accepts, with everything
 * in which the types differ. What they share (masks, KL term, entropy bonus) is in `loss.ts`.
 *
 * To add a loss type:
 * 1. its name and the default values of its parameters in `configs/schema/loss_types.ts`;
 * 2. an entry here;
 * 3. where it needs one, a new term in `policy_terms.ts`.
 *
 * All are as `GRPOTrainer._compute_loss` of TRL 1.16 computes them, except for the normalisation:
 * TRL divides by the average step of the generation batch, this code by the step itself (the
 * completions of one optimizer step). The header of `loss.ts` says why.
 */
import type { LossType } from "../../configs/schema/loss_types.ts";
import {
  cappedRatioTerm,
  clippedTerm,
  type PolicySettings,
  softGateTerm,
  type TermFunction,
  vespoWeight,
  weightedRowTerm,
} from "./policy_terms.ts";

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

/** What one loss type computes. */
export interface LossRules {
  term: TermFunction;
  normalization: Normalization;
  clipping: Clipping;
  /** A weight of each whole row, and the metric that its mean over the rows is logged as. */
  rowWeight: { weight: typeof vespoWeight; metric: string } | null;
}

const CLIPPED = { term: clippedTerm, clipping: "two-sided", rowWeight: null } as const;

const LOSS_RULES: Readonly<Record<LossType, LossRules>> = {
  /** Group Relative Policy Optimization: Shao et al. 2024, "DeepSeekMath". */
  grpo: { ...CLIPPED, normalization: "row_mean" },
  /**
   * Yu et al. 2025, "DAPO": every token has the same weight; `epsilon_high` is its "clip higher".
   */
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

/** @throws RangeError for a name that is no loss type */
export function lossRules({ loss_type: name }: Pick<PolicySettings, "loss_type">): LossRules {
  // Callers that are not type-checked may pass any text.
  if (Object.hasOwn(LOSS_RULES, name)) return LOSS_RULES[name];
  const known = Object.keys(LOSS_RULES).join(", ");
  throw new RangeError(`loss_type: there is no ${JSON.stringify(name)}, only ${known}`);
}

/** What the optimizer step as a whole holds. */
export interface StepTotals {
  /** Unmasked tokens of all rows. */
  tokens: number;
  /** Rows, including those that are masked completely. */
  rows: number;
  microBatches: number;
  /** The configuration's max_completion_length. */
  maxCompletionLength: number;
  /**
   * Tokens that the entropy bonus is averaged over; by default the micro-batch's count times
   * `microBatches`.
   */
  entropyTokens?: number;
}

/**
 * The factor of one unmasked token's term in the loss.
 * @param rowTokens unmasked tokens of its row
 * @param microBatchTokens unmasked tokens of its micro-batch
 */
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
