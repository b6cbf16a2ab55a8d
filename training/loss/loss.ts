/**
 * The GRPO loss of one micro-batch and its gradient with respect to every log-probability (and entropy),
 * in float64, on ragged rows without padding. Pure: no device, no model.
 *
 * Formulas: TRL 1.16's loss types, KL estimate (k3, with bias correction), masks and metrics. One
 * deliberate difference: sums are normalised by what the whole optimizer step holds (its window), not by
 * the average window of the generation batch, so the gradient does not depend on how a window is cut into
 * micro-batches. `bnpo` normalises by the micro-batch, by definition.
 * Left out: the mixture-of-experts auxiliary loss.
 */
import { quantile } from "../../core/statistics.ts";
import { CLIPPED, type PolicySettings, policyTerm, vespoPhi } from "./policy_terms.ts";

export interface LossSettings extends PolicySettings {
  beta: number;
  use_bias_correction_kl: boolean;
  /** Keep only tokens whose entropy is in the top share; 1 = all. */
  top_entropy_quantile?: number;
  entropy_coef?: number;
  /** Log the entropy bonus' metrics also while its coefficient is 0. */
  entropy_bonus?: boolean;
  off_policy_mask_threshold?: number | null;
}

/** What the optimizer step (window) as a whole holds. */
export interface LossWindow {
  /** Unmasked tokens (Σ m over the window's rows, all processes, per process). */
  tokens: number;
  /** Rows, masked ones included. */
  rows: number;
  microBatches: number;
  /** dr_grpo's constant. */
  maxCompletionLength: number;
  /** Σ m′ for the entropy bonus; by default this micro-batch's share times `microBatches`. */
  entropyTokens?: number;
}

export interface LossInput {
  /** Row i has the tokens [offsets[i], offsets[i + 1]). [B + 1] */
  offsets: ArrayLike<number>;
  /** [B] */
  advantages: ArrayLike<number>;
  /** [T] */
  logp: ArrayLike<number>;
  /** [T] */
  entropy: ArrayLike<number>;
  /** [T]; null = the policy itself without gradient (the ratio is 1). */
  oldLogp: ArrayLike<number> | null;
  /** [T]; needed where beta is not 0. */
  refLogp: ArrayLike<number> | null;
  /** [T] 1 = trained on; null = all. */
  mask?: ArrayLike<number> | null;
  /**
   * [T] 1 = unmasked and past the entropy quantile of the whole window; null = by this micro-batch's own
   * quantile, which is TRL's rule.
   */
  entropyMask?: ArrayLike<number> | null;
  /** [T] the sampler's log-probabilities, for the off-policy mask; null = oldLogp. */
  samplerLogp?: ArrayLike<number> | null;
  /** [T] from `importanceRatio`; null = 1. */
  importance?: ArrayLike<number> | null;
}

export interface LossResult {
  /** This micro-batch's share of the window's loss. */
  loss: number;
  /** [T] ∂loss/∂logp */
  dlogp: Float64Array;
  /** [T] ∂loss/∂entropy, or null where the loss does not depend on it. */
  dentropy: Float64Array | null;
  /** ΣH·m′ and Σm′ over the tokens past the entropy quantile. */
  bonus: { entropy: number; tokens: number };
  /** TRL's names; means over this micro-batch. */
  metrics: Record<string, number>;
}

/** @throws RangeError for a missing reference. */
export function grpoLoss(
  input: LossInput,
  settings: LossSettings,
  window: LossWindow,
): LossResult {
  const { offsets, advantages, logp, entropy, refLogp } = input;
  if (settings.beta !== 0 && refLogp === null) {
    throw new RangeError("beta ≠ 0 needs the reference's log-probabilities");
  }
  const rows = offsets.length - 1, tokens = logp.length;
  const mask = input.mask ?? new Uint8Array(tokens).fill(1);
  const kept = input.entropyMask ??
    entropyMask(entropy, mask, settings.top_entropy_quantile ?? 1);
  const sequence = settings.importance_sampling_level === "sequence";
  const unmasked = sum(mask);
  const dlogp = new Float64Array(tokens);
  const clips = new ClipCounter(settings, sequence);
  const phis: number[] = [];
  let policy = 0, kl = 0, klSum = 0;

  for (let row = 0; row < rows; row++) {
    const begin = offsets[row]!, end = offsets[row + 1]!;
    const advantage = advantages[row]!;
    const length = sum(mask, begin, end);
    const weight = tokenWeight(settings, window, length, unmasked);
    const logRatio = (t: number) => input.oldLogp === null ? 0 : logp[t]! - input.oldLogp[t]!;
    let meanLogRatio = 0;
    if (sequence) {
      for (let t = begin; t < end; t++) meanLogRatio += logRatio(t) * mask[t]!;
      meanLogRatio /= Math.max(length, 1);
    }
    const onPolicy = onPolicyEnough(input, settings, row, mask, length) ? 1 : 0;
    let phi = 1;
    if (settings.loss_type === "vespo") {
      const own = range(begin, end).filter((t) => mask[t]! !== 0);
      const ratios = input.importance ? own.map((t) => input.importance![t]!) : [];
      phis.push(phi = vespoPhi(settings, own.map(logRatio), ratios, advantage));
    }
    const correction = settings.loss_type === "vespo" ? null : input.importance ?? null;
    // Derivative of the row's loss by its shared log-ratio (sequence level only).
    let shared = 0;
    for (let t = begin; t < end; t++) {
      const m = mask[t]!;
      const ratio = Math.exp(sequence ? meanLogRatio : logRatio(t));
      clips.add(ratio, advantage, m);
      if (m === 0) continue;
      const term = policyTerm(settings, ratio, advantage, logp[t]!, phi);
      const factor = weight * onPolicy * kept[t]! * (correction === null ? 1 : correction[t]!);
      policy += factor * term.value;
      let byRatio = factor * term.byRatio, direct = factor * term.direct;
      if (settings.beta !== 0) {
        const difference = refLogp![t]! - logp[t]!;
        const k3 = Math.exp(difference) - difference - 1;
        const scale = settings.use_bias_correction_kl ? ratio : 1;
        kl += settings.beta * weight * k3 * scale;
        klSum += k3 * scale;
        direct += settings.beta * weight * scale * (1 - Math.exp(difference));
        if (settings.use_bias_correction_kl) byRatio += settings.beta * weight * k3 * ratio;
      }
      dlogp[t] = direct + (sequence ? 0 : byRatio);
      shared += byRatio;
    }
    if (sequence) {
      for (let t = begin; t < end; t++) dlogp[t]! += (shared * mask[t]!) / Math.max(length, 1);
    }
    clips.endRow(length);
  }

  const metrics: Record<string, number> = {};
  let loss = policy + kl;
  const coefficient = settings.entropy_coef ?? 0;
  const bonus = { entropy: 0, tokens: sum(kept) };
  for (let t = 0; t < tokens; t++) bonus.entropy += entropy[t]! * kept[t]!;
  let dentropy: Float64Array | null = null;
  if (coefficient !== 0 || settings.entropy_bonus) {
    metrics.policy_loss = loss * (perToken(settings) ? 1 : window.microBatches);
    metrics.entropy_coef = coefficient;
  }
  if (coefficient !== 0) {
    const total = window.entropyTokens ?? Math.max(bonus.tokens, 1) * window.microBatches;
    dentropy = new Float64Array(tokens);
    for (let t = 0; t < tokens; t++) {
      dentropy[t] = (-coefficient * kept[t]!) / total;
      loss += dentropy[t]! * entropy[t]!;
    }
  }
  let entropySum = 0;
  for (let t = 0; t < tokens; t++) entropySum += entropy[t]! * mask[t]!;
  metrics.entropy = entropySum / unmasked;
  if (settings.beta !== 0) metrics.kl = klSum / unmasked;
  clips.write(metrics, unmasked, rows);
  if (settings.loss_type === "vespo") metrics["vespo/phi_seq_mean"] = sum(phis) / rows;
  return { loss, dlogp, dentropy, bonus, metrics };
}

/** Types normalised by the window's tokens. */
function perToken(settings: PolicySettings): boolean {
  return settings.loss_type === "dapo" || settings.loss_type === "cispo" ||
    settings.loss_type === "vespo";
}

/** The weight of one unmasked token of a row of `length` unmasked tokens. */
function tokenWeight(
  settings: PolicySettings,
  window: LossWindow,
  length: number,
  unmasked: number,
): number {
  switch (settings.loss_type) {
    case "grpo":
    case "sapo":
      return 1 / (Math.max(length, 1) * window.rows);
    case "bnpo":
      return 1 / (Math.max(unmasked, 1) * window.microBatches);
    case "dr_grpo":
      return 1 / (window.rows * window.maxCompletionLength);
    case "luspo":
      return 1 / window.rows;
    default:
      return 1 / Math.max(window.tokens, 1);
  }
}

/** The mask of the tokens that also pass the entropy quantile. [T] */
export function entropyMask(
  entropy: ArrayLike<number>,
  mask: ArrayLike<number>,
  share: number,
): ArrayLike<number> {
  if (share >= 1) return mask;
  const own = range(0, mask.length).filter((t) => mask[t]! !== 0);
  if (own.length === 0) return mask;
  const threshold = quantile(own.map((t) => entropy[t]!), 1 - share);
  return Uint8Array.from(
    { length: mask.length },
    (_, t) => mask[t]! !== 0 && entropy[t]! >= threshold ? 1 : 0,
  );
}

/** False for a row of negative advantage that the policy has moved away from by more than the threshold. */
function onPolicyEnough(
  input: LossInput,
  settings: LossSettings,
  row: number,
  mask: ArrayLike<number>,
  length: number,
): boolean {
  const threshold = settings.off_policy_mask_threshold ?? null;
  const sampler = input.samplerLogp ?? input.oldLogp;
  if (threshold === null || sampler === null || input.advantages[row]! >= 0) return true;
  let moved = 0;
  for (let t = input.offsets[row]!; t < input.offsets[row + 1]!; t++) {
    const difference = (sampler[t]! - input.logp[t]!) * mask[t]!;
    if (!Number.isNaN(difference)) moved += difference;
  }
  return moved / Math.max(length, 1) <= threshold;
}

/** Shares of clipped tokens, or of clipped rows at the sequence level. */
class ClipCounter {
  readonly #low: number;
  readonly #high: number;
  readonly #delta: number;
  readonly #cispo: boolean;
  readonly #active: boolean;
  readonly #sequence: boolean;
  #lows = 0;
  #highs = 0;
  #rowLows = 0;
  #rowHighs = 0;
  readonly #lowShares: number[] = [];
  readonly #highShares: number[] = [];

  constructor(settings: PolicySettings, sequence: boolean) {
    const high = settings.epsilon_high ?? settings.epsilon;
    this.#cispo = settings.loss_type === "cispo";
    this.#active = this.#cispo || CLIPPED.has(settings.loss_type);
    this.#low = 1 - settings.epsilon;
    this.#high = this.#cispo ? high : 1 + high;
    this.#delta = this.#cispo ? Infinity : settings.delta ?? Infinity;
    this.#sequence = sequence;
  }

  add(ratio: number, advantage: number, m: number): void {
    const bounded = Math.min(ratio, this.#delta);
    if (this.#sequence) {
      // The same at every token of the row, masked or not: a row counts once.
      this.#rowLows = bounded < this.#low && advantage < 0 ? 1 : 0;
      this.#rowHighs = bounded > this.#high && advantage > 0 ? 1 : 0;
    } else if (m !== 0) {
      if (bounded < this.#low && advantage < 0) this.#rowLows++;
      if (bounded > this.#high && advantage > 0) this.#rowHighs++;
    }
  }

  endRow(length: number): void {
    const units = this.#sequence ? 1 : length;
    this.#lows += this.#rowLows;
    this.#highs += this.#rowHighs;
    if (units > 0) {
      this.#lowShares.push(this.#rowLows / units);
      this.#highShares.push(this.#rowHighs / units);
    }
    this.#rowLows = 0;
    this.#rowHighs = 0;
  }

  write(metrics: Record<string, number>, tokens: number, rows: number): void {
    if (!this.#active) return;
    const units = this.#sequence ? rows : tokens;
    if (this.#cispo) {
      metrics.cispo_clip_ratio = this.#highs / units;
      return;
    }
    const none = this.#lowShares.length === 0;
    metrics["clip_ratio/low_mean"] = this.#lows / units;
    metrics["clip_ratio/low_min"] = none ? NaN : Math.min(...this.#lowShares);
    metrics["clip_ratio/high_mean"] = this.#highs / units;
    metrics["clip_ratio/high_max"] = none ? NaN : Math.max(...this.#highShares);
    metrics["clip_ratio/region_mean"] = (this.#lows + this.#highs) / units;
  }
}

function sum(values: ArrayLike<number>, begin = 0, end = values.length): number {
  let total = 0;
  for (let i = begin; i < end; i++) total += values[i]!;
  return total;
}

function range(begin: number, end: number): number[] {
  return Array.from({ length: end - begin }, (_, i) => begin + i);
}
