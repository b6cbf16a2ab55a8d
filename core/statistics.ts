/**
 * Means, extremes, standard deviations, quantiles and correlations. Confidence intervals are in
 * core/intervals.ts and bench/evaluation/intervals.ts, paired tests in
 * bench/evaluation/matched_pairs.ts.
 */

/** Mean; NaN without values. */
export function mean(values: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += values[i]!;
  return sum / values.length;
}

/** The smallest value; Infinity without. A call `Math.min(...values)` fails for long arrays. */
export function minOf(values: readonly number[]): number {
  return values.reduce((a, b) => Math.min(a, b), Infinity);
}

/** The largest value; −Infinity without values. */
export function maxOf(values: readonly number[]): number {
  return values.reduce((a, b) => Math.max(a, b), -Infinity);
}

/** Sample standard deviation (n − 1); NaN for fewer than two values. */
export function sampleStd(values: ArrayLike<number>): number {
  if (values.length < 2) return NaN;
  const center = mean(values);
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += (values[i]! - center) ** 2;
  return Math.sqrt(sum / (values.length - 1));
}

/** Pearson's correlation; NaN where one side is constant, or for fewer than two values. */
export function correlation(a: ArrayLike<number>, b: ArrayLike<number>): number {
  const meanA = mean(a), meanB = mean(b);
  let both = 0, squaresA = 0, squaresB = 0;
  for (let i = 0; i < a.length; i++) {
    const x = a[i]! - meanA, y = b[i]! - meanB;
    both += x * y;
    squaresA += x * x;
    squaresB += y * y;
  }
  return both / Math.sqrt(squaresA * squaresB);
}

/** Ranks from 1; equal values have the mean of their ranks. */
export function ranks(values: ArrayLike<number>): Float64Array {
  const order = Array.from(values, (_, i) => i).sort((i, j) => values[i]! - values[j]!);
  const result = new Float64Array(values.length);
  for (let begin = 0, end = 0; begin < order.length; begin = end) {
    while (end < order.length && values[order[end]!] === values[order[begin]!]) end++;
    for (let at = begin; at < end; at++) result[order[at]!] = (begin + end + 1) / 2;
  }
  return result;
}

/** Spearman's rank correlation; NaN where one side is constant, or for fewer than two values. */
export function rankCorrelation(a: ArrayLike<number>, b: ArrayLike<number>): number {
  return correlation(ranks(a), ranks(b));
}

/** The q-quantile, interpolated linearly as numpy and torch do. @throws RangeError */
export function quantile(values: ArrayLike<number>, q: number): number {
  if (values.length === 0 || !(q >= 0 && q <= 1)) {
    throw new RangeError(`quantile(${values.length} values, ${q}) needs values and 0 ≤ q ≤ 1`);
  }
  const sorted = Float64Array.from(values).sort();
  const at = q * (sorted.length - 1);
  const below = Math.floor(at), above = Math.ceil(at);
  const low = sorted[below]!, high = sorted[above]!;
  return low + (high - low) * (at - below);
}
