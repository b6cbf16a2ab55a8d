/**
 * Ranks that are slower than others by chance. The time of a rank for a step is its mean time times
 * a lognormal factor with mean 1, of its own in every step; a step takes as long as its slowest
 * rank.
 */

/**
 * Assumed standard deviation of the factor's logarithm. Causes: completions of different lengths,
 * clocks of cards, other users of a node. docs/scaling.md says how to measure it.
 */
export const STRAGGLER_SIGMA = 0.05;

/** Points at which the mean of the slowest rank is taken. */
const POINTS = 4096;

/** The quantile of the standard normal distribution (P. J. Acklam's rational approximation). */
export function normalQuantile(p: number): number {
  const tail = (q: number) => {
    const { numerator, denominator } = TAIL;
    return polynomial(numerator, q) / (polynomial(denominator, q) * q + 1);
  };
  if (p < LOW) return tail(Math.sqrt(-2 * Math.log(p)));
  if (p > 1 - LOW) return -tail(Math.sqrt(-2 * Math.log1p(-p)));
  const q = p - 0.5, r = q * q;
  return polynomial(CENTRE.numerator, r) * q / (polynomial(CENTRE.denominator, r) * r + 1);
}

/** Where the approximation of the centre ends. Its relative error is below 1.2e-9 everywhere. */
const LOW = 0.02425;
const CENTRE = {
  numerator: [
    -3.969683028665376e1,
    2.209460984245205e2,
    -2.759285104469687e2,
    1.38357751867269e2,
    -3.066479806614716e1,
    2.506628277459239,
  ],
  denominator: [
    -5.447609879822406e1,
    1.615858368580409e2,
    -1.556989798598866e2,
    6.680131188771972e1,
    -1.328068155288572e1,
  ],
};
const TAIL = {
  numerator: [
    -7.784894002430293e-3,
    -3.223964580411365e-1,
    -2.400758277161838,
    -2.549732539343734,
    4.374664141464968,
    2.938163982698783,
  ],
  denominator: [
    7.784695709041462e-3,
    3.224671290700398e-1,
    2.445134137142996,
    3.754408661907416,
  ],
};

/** The highest power first. */
function polynomial(coefficients: readonly number[], x: number): number {
  return coefficients.reduce((sum, coefficient) => sum * x + coefficient, 0);
}

/**
 * The factor of the slowest of `ranks` ranks.
 * @param u uniform in (0, 1)
 */
export function slowestFactor(u: number, ranks: number, sigma = STRAGGLER_SIGMA): number {
  if (sigma === 0) return 1;
  // All ranks are faster than the q-quantile with probability q^ranks.
  const q = Math.min(Math.exp(Math.log(u) / ranks), 1 - 1e-16);
  return Math.exp(sigma * normalQuantile(q) - sigma * sigma / 2);
}

/** The mean of `slowestFactor`. */
export function meanSlowest(ranks: number, sigma = STRAGGLER_SIGMA): number {
  let sum = 0;
  for (let i = 0; i < POINTS; i++) sum += slowestFactor((i + 0.5) / POINTS, ranks, sigma);
  return sum / POINTS;
}
