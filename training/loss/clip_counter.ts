/**
 * Metrics of clipping: the share of tokens whose importance ratio is clipped, or of rows where a
 * row has one ratio (TRL 1.16's `clip_ratio/…` and `cispo_clip_ratio`).
 */
import type { Clipping } from "./loss_types.ts";
import type { PolicySettings } from "./policy_terms.ts";

export class ClipCounter {
  readonly #low: number;
  readonly #high: number;
  readonly #delta: number;
  readonly #sequence: boolean;
  #lows = 0;
  #highs = 0;
  #rowLows = 0;
  #rowHighs = 0;
  readonly #lowShares: number[] = [];
  readonly #highShares: number[] = [];

  constructor(settings: PolicySettings, private readonly clipping: Clipping) {
    const high = settings.epsilon_high ?? settings.epsilon, upper = clipping === "upper";
    this.#low = 1 - settings.epsilon;
    this.#high = upper ? high : 1 + high;
    this.#delta = upper ? Infinity : settings.delta ?? Infinity;
    this.#sequence = settings.importance_sampling_level === "sequence";
  }

  /** Counts a token of the current row; `mask` is 0 for a token that is not trained on. */
  add(ratio: number, advantage: number, mask: number): void {
    const bounded = Math.min(ratio, this.#delta);
    if (this.#sequence) {
      // The ratio is the same at every token of the row, masked or not: the row counts once.
      this.#rowLows = bounded < this.#low && advantage < 0 ? 1 : 0;
      this.#rowHighs = bounded > this.#high && advantage > 0 ? 1 : 0;
    } else if (mask !== 0) {
      if (bounded < this.#low && advantage < 0) this.#rowLows++;
      if (bounded > this.#high && advantage > 0) this.#rowHighs++;
    }
  }

  /** Ends a row with `tokens` unmasked tokens. */
  endRow(tokens: number): void {
    const units = this.#sequence ? 1 : tokens;
    this.#lows += this.#rowLows;
    this.#highs += this.#rowHighs;
    if (units > 0) {
      this.#lowShares.push(this.#rowLows / units);
      this.#highShares.push(this.#rowHighs / units);
    }
    this.#rowLows = 0;
    this.#rowHighs = 0;
  }

  /** The metrics of a micro-batch of `rows` rows with `tokens` unmasked tokens in all. */
  metrics(tokens: number, rows: number): Record<string, number> {
    const units = this.#sequence ? rows : tokens;
    switch (this.clipping) {
      case "none":
        return {};
      case "upper":
        return { cispo_clip_ratio: this.#highs / units };
      case "two-sided": {
        const none = this.#lowShares.length === 0;
        return {
          "clip_ratio/low_mean": this.#lows / units,
          "clip_ratio/low_min": none ? NaN : Math.min(...this.#lowShares),
          "clip_ratio/high_mean": this.#highs / units,
          "clip_ratio/high_max": none ? NaN : Math.max(...this.#highShares),
          "clip_ratio/region_mean": (this.#lows + this.#highs) / units,
        };
      }
    }
  }
}
