/**
 * The policy-gradient term of one row (completion), per token, with its derivative: the part in which
 * the loss types differ. What they have in common (masks, KL, aggregation) is in `loss.ts`.
 *
 * Sources: PPO's clipped objective as GRPO uses it (Shao et al. 2024), DAPO's asymmetric clip (2025) and
 * two-sided `delta`, GSPO's sequence ratio (Zheng et al. 2025), CISPO (MiniMax 2025), SAPO (Qwen 2025),
 * VESPO (2026), as TRL 1.16 writes them.
 */

export type LossType =
  | "grpo"
  | "bnpo"
  | "dr_grpo"
  | "dapo"
  | "luspo"
  | "cispo"
  | "sapo"
  | "vespo";

export interface PolicySettings {
  loss_type: LossType;
  epsilon: number;
  /** null = epsilon. For cispo it is the cap of the ratio itself. */
  epsilon_high: number | null;
  /** Upper bound of the ratio for the unclipped term too; null = none. */
  delta?: number | null;
  importance_sampling_level?: "token" | "sequence";
  sapo_temperature_pos?: number;
  sapo_temperature_neg?: number;
  vespo_k_pos?: number;
  vespo_lambda_pos?: number;
  vespo_k_neg?: number;
  vespo_lambda_neg?: number;
}

/** Token t contributes `value`; its derivative is `byRatio`·d(ln ratio) + `direct`·d(logp). */
export interface PolicyTerm {
  value: number;
  byRatio: number;
  direct: number;
}

/** Types that clip the ratio to [1 − ε, 1 + ε_high]. */
export const CLIPPED: ReadonlySet<LossType> = new Set([
  "grpo",
  "bnpo",
  "dr_grpo",
  "dapo",
  "luspo",
]);

/** The term at one token: ratio c = exp(w), advantage A, log-probability of the policy. `phi`: vespo's weight. */
export function policyTerm(
  settings: PolicySettings,
  ratio: number,
  advantage: number,
  logp: number,
  phi: number,
): PolicyTerm {
  switch (settings.loss_type) {
    case "cispo": {
      const cap = Math.min(ratio, settings.epsilon_high ?? settings.epsilon);
      return { value: -cap * advantage * logp, byRatio: 0, direct: -cap * advantage };
    }
    case "sapo": {
      const temperature = advantage > 0
        ? settings.sapo_temperature_pos ?? 1
        : settings.sapo_temperature_neg ?? 1.05;
      const gate = 1 / (1 + Math.exp(-temperature * (ratio - 1)));
      return {
        value: -(4 / temperature) * gate * advantage,
        byRatio: -4 * gate * (1 - gate) * ratio * advantage,
        direct: 0,
      };
    }
    case "vespo":
      return { value: -phi * advantage * logp, byRatio: 0, direct: -phi * advantage };
    default:
      return clippedTerm(settings, ratio, advantage);
  }
}

/** l = −min(c₁A, c₂A), c₂ = clamp(c₁, 1 − ε, 1 + ε_high), then c₁ ≤ delta; ties share the slope as torch does. */
function clippedTerm(settings: PolicySettings, ratio: number, advantage: number): PolicyTerm {
  const low = 1 - settings.epsilon, high = 1 + (settings.epsilon_high ?? settings.epsilon);
  const delta = settings.delta ?? Infinity;
  const free = Math.min(ratio, delta), bounded = Math.min(Math.max(ratio, low), high);
  const freeSlope = ratio <= delta ? ratio : 0;
  const boundedSlope = ratio >= low && ratio <= high ? ratio : 0;
  const a = free * advantage, b = bounded * advantage;
  const slope = a < b ? freeSlope : a > b ? boundedSlope : (freeSlope + boundedSlope) / 2;
  return { value: -Math.min(a, b), byRatio: -slope * advantage, direct: 0 };
}

const LOG_TINY = Math.log(1e-8);
const clamp = (x: number, low: number, high: number) => Math.min(Math.max(x, low), high);

/**
 * VESPO's weight φ of a row, without gradient: from its clamped sum of log-ratios, and of the log of the
 * sampler's importance ratio where there is one. Arguments are the row's unmasked tokens.
 */
export function vespoPhi(
  settings: PolicySettings,
  logRatios: Iterable<number>,
  samplerRatios: Iterable<number>,
  advantage: number,
): number {
  let sum = 0;
  for (const value of logRatios) sum += clamp(value, -20, 20);
  for (const value of samplerRatios) sum += clamp(Math.log(value), LOG_TINY, 20);
  const q = clamp(sum, LOG_TINY, 20);
  const k = advantage >= 0 ? settings.vespo_k_pos ?? 2 : settings.vespo_k_neg ?? 3;
  const lambda = advantage >= 0 ? settings.vespo_lambda_pos ?? 3 : settings.vespo_lambda_neg ?? 2;
  const phi = Math.exp(lambda + k * q - lambda * Math.exp(q));
  return Number.isFinite(phi) ? phi : 0;
}
