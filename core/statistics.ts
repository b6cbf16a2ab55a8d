/**
 * Small statistics that every accuracy in rgx is reported with: means, standard deviations, and
 * 95 % intervals of proportions and of their differences.
 *
 * Sources: Wilson (1927) for one proportion; Newcombe (1998), method 10, for the difference of two
 * independent ones. Left out: bootstrap intervals and paired tests.
 */

/** The 97.5 % quantile of the standard normal distribution. */
export const Z95 = 1.959963984540054;

/** Mean; NaN of nothing. */
export function mean(values: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += values[i]!;
  return sum / values.length;
}

/** The smallest value, however many there are (a call takes some hundred thousand arguments); Infinity of nothing. */
export function minOf(values: readonly number[]): number {
  return values.reduce((a, b) => Math.min(a, b), Infinity);
}

/** The largest one; −Infinity of nothing. */
export function maxOf(values: readonly number[]): number {
  return values.reduce((a, b) => Math.max(a, b), -Infinity);
}

/** Sample standard deviation (n − 1); NaN with fewer than two values. */
export function sampleStd(values: ArrayLike<number>): number {
  if (values.length < 2) return NaN;
  const center = mean(values);
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += (values[i]! - center) ** 2;
  return Math.sqrt(sum / (values.length - 1));
}

/**
 * Wilson's score interval of a proportion, 95 % by default. Of nothing it is [0, 1].
 * @throws RangeError unless 0 ≤ successes ≤ total.
 */
export function wilson(successes: number, total: number, z = Z95): [low: number, high: number] {
  if (!(total >= 0 && successes >= 0 && successes <= total)) {
    throw new RangeError(`wilson(${successes}, ${total}) needs 0 ≤ successes ≤ total`);
  }
  if (total === 0) return [0, 1];
  const p = successes / total, zz = z * z;
  const center = (p + zz / (2 * total)) / (1 + zz / total);
  const half = (z / (1 + zz / total)) *
    Math.sqrt((p * (1 - p)) / total + zz / (4 * total * total));
  // The ends are exactly 0 and 1 there; rounding must not leave 1e-18 or 0.9999999.
  const low = successes === 0 ? 0 : Math.max(0, center - half);
  const high = successes === total ? 1 : Math.min(1, center + half);
  return [low, high];
}

/** Newcombe's interval of p₂ − p₁ for two independent proportions. */
export function differenceInterval(
  first: { successes: number; total: number },
  second: { successes: number; total: number },
  z = Z95,
): [low: number, high: number] {
  const [l1, u1] = wilson(first.successes, first.total, z);
  const [l2, u2] = wilson(second.successes, second.total, z);
  const p1 = first.total === 0 ? 0.5 : first.successes / first.total;
  const p2 = second.total === 0 ? 0.5 : second.successes / second.total;
  return [
    p2 - p1 - Math.hypot(p2 - l2, u1 - p1),
    p2 - p1 + Math.hypot(u2 - p2, p1 - l1),
  ];
}

/**
 * The q-quantile by linear interpolation between order statistics (numpy's and torch's default).
 * @throws RangeError for no values or q outside [0, 1].
 */
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
