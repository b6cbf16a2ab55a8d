/**
 * 95 % confidence intervals of proportions, such as accuracies: Wilson's score interval of one
 * proportion (Wilson 1927) and Newcombe's interval of the difference of two independent ones
 * (Newcombe 1998, method 10). Intervals of mean scores and of paired results are in
 * bench/evaluation/intervals.ts, McNemar's test is in bench/evaluation/matched_pairs.ts.
 */

/** The 97.5 % quantile of the standard normal distribution. */
export const Z95 = 1.959963984540054;

/** Wilson's score interval, 95 % by default; [0, 1] without trials. @throws RangeError */
export function wilson(successes: number, total: number, z = Z95): [low: number, high: number] {
  if (!(total >= 0 && successes >= 0 && successes <= total)) {
    throw new RangeError(`wilson(${successes}, ${total}) needs 0 ≤ successes ≤ total`);
  }
  if (total === 0) return [0, 1];
  const p = successes / total, zz = z * z;
  const center = (p + zz / (2 * total)) / (1 + zz / total);
  const half = (z / (1 + zz / total)) *
    Math.sqrt((p * (1 - p)) / total + zz / (4 * total * total));
  // If none or all succeed, one end is exactly 0 or 1; rounding would give 1e-18 or 0.9999999.
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
