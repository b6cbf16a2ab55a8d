/** The metrics of a run's latest steps, which its diagnosis is based on. */
import { mean, sampleStd } from "../../core/statistics.ts";
import type { Metrics } from "../metrics/metrics.ts";

/** Min and max length of the window, in steps; within these bounds it is a fifth of the run. */
const MIN_STEPS = 5, MAX_STEPS = 30;

/** The latest steps, in a window of up to `maxLength` steps; twice as many are kept. */
export class RecentSteps {
  /** Length of a full window. A run that is shorter than `MIN_STEPS` is one window. */
  readonly maxLength: number;
  readonly #steps: Metrics[] = [];

  constructor(totalSteps: number) {
    const share = Math.max(MIN_STEPS, Math.round(totalSteps / 5));
    this.maxLength = Math.min(MAX_STEPS, share, totalSteps);
  }

  add(metrics: Readonly<Metrics>): void {
    this.#steps.push({ ...metrics });
    if (this.#steps.length > 2 * this.maxLength) this.#steps.shift();
  }

  /** Current length of the window. */
  get length(): number {
    return Math.min(this.maxLength, this.#steps.length);
  }

  /** The metrics of the window's steps. */
  get window(): readonly Metrics[] {
    return this.#steps.slice(-this.length);
  }

  /** The metrics of the latest step. */
  get latest(): Metrics {
    return this.#steps.at(-1)!;
  }

  /** Values of a metric in the window; steps without it are left out. */
  values(name: string): number[] {
    return this.window.map((metrics) => metrics[name]).filter(isNumber);
  }

  /** Values of a metric in all steps that are kept. */
  allValues(name: string): number[] {
    return this.#steps.map((metrics) => metrics[name]).filter(isNumber);
  }

  mean(name: string): number {
    return mean(this.values(name));
  }

  /** Whether a metric has this value in every step of the window. */
  isAlways(name: string, expected: number): boolean {
    const values = this.values(name);
    return values.length === this.length && values.every((value) => value === expected);
  }

  /**
   * Whether the mean of a metric's later half is above that of the earlier half by more than
   * chance.
   */
  rises(name: string): boolean {
    const values = this.allValues(name);
    const half = values.length >> 1, early = values.slice(0, half), late = values.slice(half);
    if (half === 0) return false;
    const error = (part: readonly number[]) => sampleStd(part) ** 2 / part.length;
    const noise = Math.sqrt(error(early) + error(late));
    return mean(late) - mean(early) > 2 * noise;
  }
}

export function isNumber(value: number | null | undefined): value is number {
  return Number.isFinite(value);
}
