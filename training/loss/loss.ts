/**
 * The GRPO loss of one micro-batch and its gradient with respect to every log-probability (and
 * entropy), in float64, on ragged rows without padding. Pure: no device, no model.
 *
 * Formulas: KL estimate (k3, with bias correction), masks, entropy bonus and metrics of TRL 1.16;
 * what the loss types do differently is in `loss_types.ts`. One deliberate difference: sums are
 * normalised by what the optimizer step itself holds, not by the average step of the generation
 * batch. So the gradient does not depend on how a step is cut into micro-batches.
 * `bnpo` normalises by the micro-batch, by definition. The loss that balances experts is added by
 * the model (models/network/experts.ts).
 */
import type { AlgorithmSection } from "../../configs/schema/run_config.ts";
import { quantile } from "../../core/statistics.ts";
import {
  type Clipping,
  LOSS_RULES,
  type PolicySettings,
  type StepTotals,
  tokenWeight,
} from "./loss_types.ts";

export type { StepTotals };

export interface LossSettings extends
  PolicySettings,
  Pick<
    AlgorithmSection,
    | "beta"
    | "use_bias_correction_kl"
    | "top_entropy_quantile"
    | "entropy_coef"
    | "off_policy_mask_threshold"
  > {
  /** Log the metrics of the entropy bonus also while its coefficient is 0. */
  entropy_bonus?: boolean;
}

/** B rows (completions) with T tokens in all. */
export interface LossInput {
  /** Row i has the tokens [offsets[i], offsets[i + 1]). [B + 1] */
  offsets: ArrayLike<number>;
  /** [B] */
  advantages: ArrayLike<number>;
  /** [T] in the place of the rows' in the policy term; null = those. */
  tokenAdvantages?: ArrayLike<number> | null;
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
   * [T] 1 = unmasked, and the entropy is at least the quantile over the whole step; null = this
   * micro-batch's quantile decides, which is TRL's rule.
   */
  entropyMask?: ArrayLike<number> | null;
  /** [T] the sampler's log-probabilities, for the off-policy mask; null = oldLogp. */
  samplerLogp?: ArrayLike<number> | null;
  /** [T] from `importanceRatio`; null = 1. */
  importance?: ArrayLike<number> | null;
}

export interface LossResult {
  /** This micro-batch's share of the optimizer step's loss. */
  loss: number;
  /** [T] ∂loss/∂logp */
  dlogp: Float64Array;
  /** [T] ∂loss/∂entropy, or null where the loss does not depend on it. */
  dentropy: Float64Array | null;
  /** Sum of the entropies and number of the tokens that the entropy mask keeps. */
  bonus: { entropy: number; tokens: number };
  /** TRL's names; means over this micro-batch. */
  metrics: Record<string, number>;
}

/** @throws RangeError for a missing reference or an unknown loss type */
export function grpoLoss(
  input: LossInput,
  settings: LossSettings,
  step: StepTotals,
): LossResult {
  const { offsets, advantages, tokenAdvantages = null, logp, entropy, refLogp } = input;
  if (settings.beta !== 0 && refLogp === null) {
    throw new RangeError("beta ≠ 0 needs the reference's log-probabilities");
  }
  const { term, normalization, clipping, rowWeight } = LOSS_RULES[settings.loss_type];
  const rows = offsets.length - 1, tokens = logp.length;
  const mask = input.mask ?? new Uint8Array(tokens).fill(1);
  const kept = input.entropyMask ?? entropyMask(entropy, mask, settings.top_entropy_quantile);
  const sequence = settings.importance_sampling_level === "sequence";
  const unmasked = sum(mask);
  const dlogp = new Float64Array(tokens);
  const clips = new ClipCounter(settings, clipping);
  const rowWeights: number[] = [];
  let policy = 0, kl = 0, klSum = 0;

  for (let row = 0; row < rows; row++) {
    const begin = offsets[row]!, end = offsets[row + 1]!;
    const ofRow = advantages[row]!;
    const length = sum(mask, begin, end);
    const weight = tokenWeight(normalization, step, length, unmasked);
    const logRatio = (t: number) => input.oldLogp === null ? 0 : logp[t]! - input.oldLogp[t]!;
    let meanLogRatio = 0;
    if (sequence) {
      for (let t = begin; t < end; t++) meanLogRatio += logRatio(t) * mask[t]!;
      meanLogRatio /= Math.max(length, 1);
    }
    const onPolicy = onPolicyEnough(input, settings, row, mask, length) ? 1 : 0;
    let phi = 1;
    if (rowWeight !== null) {
      const trained = range(begin, end).filter((t) => mask[t]! !== 0);
      const ratios = input.importance ? trained.map((t) => input.importance![t]!) : [];
      phi = rowWeight.weight(settings, trained.map(logRatio), ratios, ofRow);
      rowWeights.push(phi);
    }
    // A row weight has the sampler's ratios in it already.
    const correction = rowWeight !== null ? null : input.importance ?? null;
    // Derivative of the row's loss by the log-ratio that its tokens share (sequence level only).
    let shared = 0;
    for (let t = begin; t < end; t++) {
      const m = mask[t]!;
      const ratio = Math.exp(sequence ? meanLogRatio : logRatio(t));
      const advantage = tokenAdvantages === null ? ofRow : tokenAdvantages[t]!;
      clips.add(ratio, advantage, m);
      if (m === 0) continue;
      const token = term(settings, ratio, advantage, logp[t]!, phi);
      const factor = weight * onPolicy * kept[t]! * (correction === null ? 1 : correction[t]!);
      policy += factor * token.value;
      let byRatio = factor * token.byRatio, direct = factor * token.direct;
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
  const coefficient = settings.entropy_coef;
  const bonus = { entropy: 0, tokens: sum(kept) };
  for (let t = 0; t < tokens; t++) bonus.entropy += entropy[t]! * kept[t]!;
  let dentropy: Float64Array | null = null;
  if (coefficient !== 0 || settings.entropy_bonus) {
    metrics.policy_loss = loss * (normalization === "step_tokens" ? 1 : step.microBatches);
    metrics.entropy_coef = coefficient;
  }
  if (coefficient !== 0) {
    const total = step.entropyTokens ?? Math.max(bonus.tokens, 1) * step.microBatches;
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
  Object.assign(metrics, clips.metrics(unmasked, rows));
  if (rowWeight !== null) metrics[rowWeight.metric] = sum(rowWeights) / rows;
  return { loss, dlogp, dentropy, bonus, metrics };
}

/** The unmasked tokens whose entropy is in the top `share`; 1 = all. [T] */
export function entropyMask(
  entropy: ArrayLike<number>,
  mask: ArrayLike<number>,
  share: number,
): ArrayLike<number> {
  if (share >= 1) return mask;
  const unmasked = range(0, mask.length).filter((t) => mask[t]! !== 0);
  if (unmasked.length === 0) return mask;
  const threshold = quantile(unmasked.map((t) => entropy[t]!), 1 - share);
  return Uint8Array.from(
    { length: mask.length },
    (_, t) => mask[t]! !== 0 && entropy[t]! >= threshold ? 1 : 0,
  );
}

/**
 * The off-policy mask: false for a row with a negative advantage whose log-probabilities have
 * fallen, since it was sampled, by more than the threshold on average.
 */
function onPolicyEnough(
  input: LossInput,
  settings: LossSettings,
  row: number,
  mask: ArrayLike<number>,
  length: number,
): boolean {
  const threshold = settings.off_policy_mask_threshold;
  const sampler = input.samplerLogp ?? input.oldLogp;
  if (threshold === null || sampler === null || input.advantages[row]! >= 0) return true;
  let fall = 0;
  for (let t = input.offsets[row]!; t < input.offsets[row + 1]!; t++) {
    const difference = (sampler[t]! - input.logp[t]!) * mask[t]!;
    if (!Number.isNaN(difference)) fall += difference;
  }
  return fall / Math.max(length, 1) <= threshold;
}

function sum(values: ArrayLike<number>, begin = 0, end = values.length): number {
  let total = 0;
  for (let i = begin; i < end; i++) total += values[i]!;
  return total;
}

function range(begin: number, end: number): number[] {
  return Array.from({ length: end - begin }, (_, i) => begin + i);
}

/**
 * Metrics of clipping: the share of tokens whose importance ratio is clipped, or of rows where a
 * row has one ratio (TRL 1.16's `clip_ratio/…` and `cispo_clip_ratio`).
 */
class ClipCounter {
  readonly #low: number;
  readonly #high: number;
  readonly #delta: number;
  readonly #sequence: boolean;
  #row = { lows: 0, highs: 0 };
  /** Of each row: its tokens or 1, and how many of them are clipped. */
  readonly #rows: { lows: number; highs: number; units: number }[] = [];

  constructor(settings: PolicySettings, private readonly clipping: Clipping) {
    const high = settings.epsilon_high ?? settings.epsilon, upper = clipping === "upper";
    this.#low = 1 - settings.epsilon;
    this.#high = upper ? high : 1 + high;
    this.#delta = upper ? Infinity : settings.delta ?? Infinity;
    this.#sequence = settings.importance_sampling_level === "sequence";
  }

  /** Counts a token of the current row; `mask` is 0 for a token that is not trained on. */
  add(ratio: number, advantage: number, mask: number): void {
    const bounded = Math.min(ratio, this.#delta), row = this.#row;
    const isLow = bounded < this.#low && advantage < 0;
    const isHigh = bounded > this.#high && advantage > 0;
    // The ratio of a sequence is the same at every token of the row, masked or not: it counts once.
    if (this.#sequence) {
      row.lows = isLow ? 1 : 0;
      row.highs = isHigh ? 1 : 0;
    } else if (mask !== 0) {
      if (isLow) row.lows++;
      if (isHigh) row.highs++;
    }
  }

  /** Ends a row with `tokens` unmasked tokens. */
  endRow(tokens: number): void {
    this.#rows.push({ ...this.#row, units: this.#sequence ? 1 : tokens });
    this.#row = { lows: 0, highs: 0 };
  }

  /** The metrics of a micro-batch of `rows` rows with `tokens` unmasked tokens in all. */
  metrics(tokens: number, rows: number): Record<string, number> {
    const units = this.#sequence ? rows : tokens;
    const lows = sum(this.#rows.map((row) => row.lows));
    const highs = sum(this.#rows.map((row) => row.highs));
    if (this.clipping === "none") return {};
    if (this.clipping === "upper") return { cispo_clip_ratio: highs / units };
    const counted = this.#rows.filter((row) => row.units > 0), none = counted.length === 0;
    return {
      "clip_ratio/low_mean": lows / units,
      "clip_ratio/low_min": none ? NaN : Math.min(...counted.map((row) => row.lows / row.units)),
      "clip_ratio/high_mean": highs / units,
      "clip_ratio/high_max": none ? NaN : Math.max(...counted.map((row) => row.highs / row.units)),
      "clip_ratio/region_mean": (lows + highs) / units,
    };
  }
}
