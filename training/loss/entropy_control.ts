/**
 * The coefficient of the entropy bonus from step to step (TRL's `use_adaptive_entropy`): after each step it
 * moves by a fixed amount, up while the policy's entropy is at or below the target and down above it, and it
 * is applied only while the entropy of the step before was at or below the target. Without
 * `use_adaptive_entropy` it is constant.
 */

export interface EntropySettings {
  entropy_coef: number;
  use_adaptive_entropy: boolean;
  entropy_coef_min: number;
  entropy_coef_max: number;
  entropy_coef_delta: number;
  entropy_target: number;
}

/** In `rgx_state.json`. */
export interface EntropyState {
  coef: number;
  /** Mean entropy per token of the step before. */
  last: number;
}

export class EntropyControl {
  #state: EntropyState;

  constructor(private readonly settings: EntropySettings, restored: EntropyState | null) {
    this.#state = restored ?? { coef: settings.entropy_coef, last: 0 };
  }

  /** Coefficient of the next step. */
  get applied(): number {
    const { use_adaptive_entropy: adaptive, entropy_target: target } = this.settings;
    return adaptive && this.#state.last > target ? 0 : this.#state.coef;
  }

  /** True when the loss has a bonus at all, now or later. */
  get active(): boolean {
    return this.settings.use_adaptive_entropy || this.settings.entropy_coef !== 0;
  }

  /** The coefficient as it is logged, whether it is applied or not. */
  get coefficient(): number {
    return this.#state.coef;
  }

  /** After a step: `entropy` = the window's ΣH·m′ / Σm′. */
  update(entropy: number): void {
    const { settings } = this;
    if (!settings.use_adaptive_entropy || !Number.isFinite(entropy)) return;
    const change = entropy <= settings.entropy_target
      ? settings.entropy_coef_delta
      : -settings.entropy_coef_delta;
    const { entropy_coef_min: low, entropy_coef_max: high } = settings;
    this.#state = {
      coef: Math.min(Math.max(this.#state.coef + change, low), high),
      last: entropy,
    };
  }

  /** null where nothing changes over the run. */
  state(): EntropyState | null {
    return this.settings.use_adaptive_entropy ? { ...this.#state } : null;
  }
}
