/**
 * 95 % intervals of what evaluations measure:
 * - an accuracy, and the difference of two models on different problems: core/intervals.ts
 *   (Wilson, Newcombe);
 * - a mean score: {@link bootstrapMean}, the percentile bootstrap (Efron 1979);
 * - the difference of two models on the same problems: {@link matchedPairsInterval} (Agresti and
 *   Min 2005), used by matched_pairs.ts;
 * - the average accuracy over several tasks: {@link averageAccuracy}.
 */
import { Z95 } from "../../core/intervals.ts";
import { RandomStream } from "../../core/philox.ts";
import { quantile } from "../../core/statistics.ts";

/** Resamples of a bootstrap. */
export const RESAMPLES = 2000;

/**
 * 95 % percentile bootstrap interval of a mean; without values [0, 1]. The draws are counter based,
 * so the same values give the same interval.
 */
export function bootstrapMean(values: readonly number[]): [low: number, high: number] {
  const n = values.length;
  if (n === 0) return [0, 1];
  // Resamples of equal values are all the same.
  if (values.every((value) => value === values[0])) return [values[0]!, values[0]!];
  const means = new Float64Array(RESAMPLES);
  const kept = n <= MAX_KEPT ? keptDraws(n) : null, draw = kept === null ? draws(n) : null;
  for (let r = 0, at = 0; r < RESAMPLES; r++) {
    let sum = 0;
    if (kept !== null) { for (let i = 0; i < n; i++) sum += values[kept[at++]!]!; }
    else for (let i = 0; i < n; i++) sum += values[draw!()]!;
    means[r] = sum / n;
  }
  return [quantile(means, 0.025), quantile(means, 0.975)];
}

/** The next index of a resample of `n` values; always the same sequence. */
function draws(n: number): () => number {
  const random = RandomStream.forPurpose(0, "shuffle", "bootstrap");
  return () => Math.floor(random.random() * n);
}

/** All draws of a bootstrap, kept since most tasks of a benchmark have equally many problems. */
function keptDraws(n: number): Uint16Array {
  if (last?.n !== n) {
    const draw = draws(n), all = new Uint16Array(RESAMPLES * n);
    for (let at = 0; at < all.length; at++) all[at] = draw();
    last = { n, all };
  }
  return last.all;
}

/** Maximum number of values for which draws are kept; they take up to 8 MB. */
const MAX_KEPT = 2000;
let last: { n: number; all: Uint16Array } | null = null;

/**
 * 95 % interval of the difference of two proportions from `n` matched pairs, of which `onlyFirst`
 * and `onlySecond` differ: Wald's interval with half a pair added to each cell, so that it keeps a
 * width when no pair differs.
 */
export function matchedPairsInterval(
  onlyFirst: number,
  onlySecond: number,
  n: number,
): [low: number, high: number] {
  const b = onlyFirst + 0.5, c = onlySecond + 0.5, total = n + 2;
  const half = Z95 * Math.sqrt(b + c - (b - c) ** 2 / total) / total;
  const center = (c - b) / total;
  return [Math.max(-1, center - half), Math.min(1, center + half)];
}

// The average accuracy over tasks, each of which counts the same. Its interval comes from those of
// the tasks by the method of variance estimates recovery (Zou and Donner 2008), which also gives
// Newcombe's interval of a difference. It keeps its width at 0 % and 100 %, where standard errors
// vanish. The results are taken as independent; the choice of the tasks is not in the interval.

/** Without tasks, the accuracy is NaN and the interval [0, 1]. */
export function averageAccuracy(
  tasks: readonly { accuracy: number; ci95: readonly [low: number, high: number] }[],
): { accuracy: number; ci95: [low: number, high: number] } {
  const n = tasks.length;
  if (n === 0) return { accuracy: NaN, ci95: [0, 1] };
  let sum = 0, below = 0, above = 0;
  for (const { accuracy, ci95: [low, high] } of tasks) {
    sum += accuracy;
    below += (accuracy - low) ** 2;
    above += (high - accuracy) ** 2;
  }
  const accuracy = sum / n;
  return {
    accuracy,
    ci95: [
      Math.max(0, accuracy - Math.sqrt(below) / n),
      Math.min(1, accuracy + Math.sqrt(above) / n),
    ],
  };
}
