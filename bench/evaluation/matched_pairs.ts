/**
 * Compares two models that answered the same problems: McNemar's test (1947) in its exact two-sided
 * form (twice the smaller tail of the binomial, at most 1). Where problems have several samples,
 * the test flips the signs of the differences at random.
 */
import { RandomStream } from "../../core/philox.ts";
import { mean } from "../../core/statistics.ts";
import { bootstrapMean, matchedPairsInterval, RESAMPLES } from "./intervals.ts";

/** The comparison of two models on the same problems. */
export interface PairedTest {
  /** Problems. */
  n: number;
  /** Mean of the second model's values minus the mean of the first's. */
  difference: number;
  /** 95 % interval of `difference`. */
  ci95: [low: number, high: number];
  /** Problems on which the first model is better. */
  only_first: number;
  /** Problems on which the second model is better. */
  only_second: number;
  /** Two-sided: the exact McNemar test of values 0 and 1, else a sign-flip test. */
  p_value: number;
}

/**
 * Compares two models on the same problems.
 * @param first for each problem the share of the first model's samples that are correct: 0 or 1
 *   with one sample
 * @throws RangeError when the two models have different numbers of problems
 */
export function pairedTest(first: readonly number[], second: readonly number[]): PairedTest {
  if (first.length !== second.length) {
    throw new RangeError(`pairedTest: ${first.length} and ${second.length} values are no pairs`);
  }
  const differences = second.map((value, i) => value - first[i]!);
  const onlyFirst = differences.filter((d) => d < 0).length;
  const onlySecond = differences.filter((d) => d > 0).length;
  const isBinary = differences.every((d) => d === 0 || Math.abs(d) === 1);
  return {
    n: first.length,
    difference: first.length === 0 ? 0 : mean(differences),
    ci95: isBinary
      ? matchedPairsInterval(onlyFirst, onlySecond, first.length)
      : bootstrapMean(differences),
    only_first: onlyFirst,
    only_second: onlySecond,
    p_value: isBinary ? mcnemarExact(onlyFirst, onlySecond) : signFlip(differences),
  };
}

/** Two-sided exact p-value of `a` against `b` discordant pairs. */
export function mcnemarExact(a: number, b: number): number {
  const n = a + b, k = Math.min(a, b);
  if (n === 0) return 1;
  // The terms of the tail are computed from logarithms: 2^n overflows from n = 1024 on.
  let logTerm = -n * Math.LN2, tail = Math.exp(logTerm);
  for (let i = 0; i < k; i++) {
    logTerm += Math.log((n - i) / (i + 1));
    tail += Math.exp(logTerm);
  }
  return Math.min(1, 2 * tail);
}

/**
 * The p-value: the share of random sign flips whose sum is at least as far from 0 as the observed
 * one. The observed sum counts as one flip.
 */
function signFlip(differences: readonly number[]): number {
  const observed = Math.abs(differences.reduce((sum, d) => sum + d, 0)) - 1e-12;
  const random = RandomStream.forPurpose(0, "shuffle", "sign-flip");
  let extreme = 1;
  const flips = RESAMPLES * 5;
  for (let r = 0; r < flips; r++) {
    let sum = 0, signs = 0;
    for (let i = 0; i < differences.length; i++) {
      if (i % 32 === 0) signs = random.u32();
      sum += (signs >>> (i % 32)) & 1 ? differences[i]! : -differences[i]!;
    }
    if (Math.abs(sum) >= observed) extreme++;
  }
  return extreme / (flips + 1);
}
