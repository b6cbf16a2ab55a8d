/**
 * The policy-gradient term of one token for each kind of objective, with its derivative.
 * Which loss type uses which term is in `loss_types.ts`.
 */
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
export interface PolicyTerm {
  value: number;
  byRatio: number;
  direct: number;
}

/**
 * The term of one token.
 * @param ratio importance ratio c = exp(logp − old logp), of the token or of its row
 * @param rowWeight weight of the token's row, without gradient (VESPO's φ)
 */
export type TermFunction = (
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
export const clippedTerm: TermFunction = (settings, ratio, advantage) => {
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
export const cappedRatioTerm: TermFunction = (settings, ratio, advantage, logp) => {
  const weight = Math.min(ratio, settings.epsilon_high ?? settings.epsilon);
  return { value: -weight * advantage * logp, byRatio: 0, direct: -weight * advantage };
};

/**
 * SAPO: −(4/τ)·σ(τ·(c − 1))·A, where σ is the logistic function and the temperature τ depends on
 * the sign of A.
 */
export const softGateTerm: TermFunction = (settings, ratio, advantage) => {
  const temperature = advantage > 0 ? settings.sapo_temperature_pos : settings.sapo_temperature_neg;
  const gate = 1 / (1 + Math.exp(-temperature * (ratio - 1)));
  return {
    value: -(4 / temperature) * gate * advantage,
    byRatio: -4 * gate * (1 - gate) * ratio * advantage,
    direct: 0,
  };
};

/** VESPO: −φ·A·logp with the row's weight φ ({@link vespoWeight}). */
export const weightedRowTerm: TermFunction = (_settings, _ratio, advantage, logp, rowWeight) => ({
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
export function vespoWeight(
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
