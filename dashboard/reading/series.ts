/**
 * The values of one metric, in little memory, and curves from them: smoothed over all steps, and
 * then thinned to a number of points without losing a peak.
 */
import type { Curve } from "../api.ts";

export class Series {
  #steps = new Uint32Array(16);
  #values = new Float32Array(16);
  /** Intervals of accuracies, by position. */
  readonly #intervals = new Map<number, readonly [low: number, high: number]>();
  #length = 0;

  get length(): number {
    return this.#length;
  }

  add(step: number, value: number, ci95?: readonly [low: number, high: number]): void {
    const at = this.#length++;
    if (at === this.#steps.length) {
      this.#steps = grown(this.#steps, new Uint32Array(2 * at));
      this.#values = grown(this.#values, new Float32Array(2 * at));
    }
    this.#steps[at] = step;
    this.#values[at] = value;
    if (ci95 !== undefined) this.#intervals.set(at, ci95);
  }

  /**
   * @param points maximum number of points
   * @param smoothing weight of the past in the running mean, from 0 (none) to below 1
   * @param from first step
   * @param to last step
   */
  curve(points: number, smoothing: number, from = 0, to = Infinity): Curve {
    const steps = this.#steps.subarray(0, this.#length), values = this.#values;
    const chosen = this.#thinned(points, from, to);
    const curve: Curve = {
      steps: chosen.map((i) => steps[i]!),
      values: chosen.map((i) => rounded(values[i]!)),
    };
    if (this.#intervals.size > 0) {
      curve.low = chosen.map((i) => this.#intervals.get(i)?.[0] ?? null);
      curve.high = chosen.map((i) => this.#intervals.get(i)?.[1] ?? null);
    }
    if (smoothing > 0) {
      const smooth = smoothed(values.subarray(0, this.#length), smoothing);
      curve.smooth = chosen.map((i) => rounded(smooth[i]!));
    }
    return curve;
  }

  /** Positions of the lowest and the highest value of each part, and of the first and the last. */
  #thinned(points: number, from: number, to: number): number[] {
    const inside: number[] = [];
    for (let i = 0; i < this.#length; i++) {
      if (this.#steps[i]! >= from && this.#steps[i]! <= to) inside.push(i);
    }
    if (inside.length <= points) return inside;
    const size = inside.length / Math.max(1, Math.floor((points - 2) / 2));
    const kept = new Set([inside[0]!, inside.at(-1)!]);
    for (let start = 0; start < inside.length; start += size) {
      let low = inside[Math.floor(start)]!, high = low;
      const end = Math.min(inside.length, Math.floor(start + size));
      for (let n = Math.floor(start); n < end; n++) {
        const i = inside[n]!;
        if (this.#values[i]! < this.#values[low]!) low = i;
        if (this.#values[i]! > this.#values[high]!) high = i;
      }
      kept.add(low).add(high);
    }
    return [...kept].sort((a, b) => a - b);
  }
}

/**
 * The exponential running mean; its beginning is corrected, so that it does not start from 0 (the
 * rule of TensorBoard).
 */
function smoothed(values: Float32Array, weight: number): Float64Array {
  const means = new Float64Array(values.length);
  let sum = 0, weights = 0;
  for (let i = 0; i < values.length; i++) {
    sum = weight * sum + (1 - weight) * values[i]!;
    weights = weight * weights + (1 - weight);
    means[i] = sum / weights;
  }
  return means;
}

/** Six digits, which is more than a chart shows. */
function rounded(value: number): number {
  return Number(value.toPrecision(6));
}

function grown<T extends Uint32Array | Float32Array>(from: T, to: T): T {
  to.set(from);
  return to;
}
