/**
 * The coefficient of the entropy bonus from step to step (TRL's `use_adaptive_entropy`). After each
 * step it moves by a fixed amount: up if the policy's entropy was at or below the target, otherwise
 * down. A step applies it only if the entropy of the step before was at or below the target.
 * Without `use_adaptive_entropy` the coefficient is constant.
 */
import type { AlgorithmSection } from "../../configs/schema/run_config.ts";

export type EntropySettings = Pick<
  AlgorithmSection,
  | "entropy_coef"
  | "use_adaptive_entropy"
  | "entropy_coef_min"
  | "entropy_coef_max"
  | "entropy_coef_delta"
  | "entropy_target"
>;

/** What a checkpoint holds of it (in `rgx_state.json`). */
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

  get terms(): { entropy_coef: number; entropy_bonus: boolean } {
    return { entropy_coef: this.applied, entropy_bonus: this.active };
  }

  get applied(): number {
    const { use_adaptive_entropy: adaptive, entropy_target: target } = this.settings;
    return adaptive && this.#state.last > target ? 0 : this.#state.coef;
  }

  /** True when the loss has an entropy bonus, at least in some steps. */
  get active(): boolean {
    return this.settings.use_adaptive_entropy || this.settings.entropy_coef !== 0;
  }

  /** The coefficient as it is logged, whether it is applied or not; null = there is no bonus. */
  get logged(): number | null {
    return this.active ? this.#state.coef : null;
  }

  /** Called after each step. @returns the state for the checkpoint; null: constant coefficient */
  update(entropy: number): EntropyState | null {
    const { settings } = this;
    if (!settings.use_adaptive_entropy) return null;
    if (!Number.isFinite(entropy)) return this.#state;
    const change = entropy <= settings.entropy_target
      ? settings.entropy_coef_delta
      : -settings.entropy_coef_delta;
    const { entropy_coef_min: low, entropy_coef_max: high } = settings;
    return this.#state = {
      coef: Math.min(Math.max(this.#state.coef + change, low), high),
      last: entropy,
    };
  }
}
