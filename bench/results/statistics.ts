/**
 * What a benchmark says about its own certainty: bootstrap intervals of mean scores, the paired test of two
 * models on the same problems, and the measures of several samples a problem.
 *
 * Sources: Efron (1979), percentile bootstrap; McNemar (1947), exact two-sided form (twice the smaller tail of
 * the binomial, at most 1); Agresti and Min (2005), interval of matched pairs; Chen et al. (2021), arXiv 2107.03374, unbiased pass@k. Draws are counter based,
 * so the same data give the same interval. Wilson's interval is in core/statistics.ts.
 */
import { RandomStream } from "../../core/philox.ts";
import { mean, quantile, Z95 } from "../../core/statistics.ts";
import type { Interval } from "./result_file.ts";

const RESAMPLES = 2000;

/** 95 % percentile bootstrap interval of a mean; of nothing [0, 1]. */
export function bootstrapMean(values: readonly number[]): Interval {
  const n = values.length;
  if (n === 0) return [0, 1];
  // Equal values have no spread to resample.
  if (values.every((value) => value === values[0])) return [values[0]!, values[0]!];
  const means = new Float64Array(RESAMPLES);
  const kept = n <= MOST_KEPT ? keptDraws(n) : null, draw = kept === null ? draws(n) : null;
  for (let r = 0, at = 0; r < RESAMPLES; r++) {
    let sum = 0;
    if (kept !== null) { for (let i = 0; i < n; i++) sum += values[kept[at++]!]!; }
    else for (let i = 0; i < n; i++) sum += values[draw!()]!;
    means[r] = sum / n;
  }
  return [quantile(means, 0.025), quantile(means, 0.975)];
}

/** Which of `n` values are drawn: always the same. */
function draws(n: number): () => number {
  const random = RandomStream.forPurpose(0, "shuffle", "bootstrap");
  return () => Math.floor(random.random() * n);
}

/** All of them, kept because most tasks of a benchmark have equally many problems. */
function keptDraws(n: number): Uint16Array {
  if (last?.n !== n) {
    const draw = draws(n), all = new Uint16Array(RESAMPLES * n);
    for (let at = 0; at < all.length; at++) all[at] = draw();
    last = { n, all };
  }
  return last.all;
}

/** Values up to which draws are kept: 8 MB of them. */
const MOST_KEPT = 2000;
let last: { n: number; all: Uint16Array } | null = null;

export interface PairedTest {
  n: number;
  difference: number;
  ci95: Interval;
  only_first: number;
  only_second: number;
  p_value: number;
}

/**
 * Two models on the same problems; a value is the share of a problem's samples that are correct, so 0 or 1
 * with one sample.
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
      ? pairedInterval(onlyFirst, onlySecond, first.length)
      : bootstrapMean(differences),
    only_first: onlyFirst,
    only_second: onlySecond,
    p_value: isBinary ? mcnemarExact(onlyFirst, onlySecond) : signFlip(differences),
  };
}

/**
 * 95 % interval of the difference of two proportions from matched pairs: Wald's with half a pair more in each
 * cell, so that it keeps a width when no pair differs.
 */
function pairedInterval(onlyFirst: number, onlySecond: number, n: number): Interval {
  const b = onlyFirst + 0.5, c = onlySecond + 0.5, total = n + 2;
  const half = Z95 * Math.sqrt(b + c - (b - c) ** 2 / total) / total;
  const center = (c - b) / total;
  return [Math.max(-1, center - half), Math.min(1, center + half)];
}

/** Two-sided exact p-value of `a` against `b` discordant pairs. */
export function mcnemarExact(a: number, b: number): number {
  const n = a + b, k = Math.min(a, b);
  if (n === 0) return 1;
  // The terms of the tail by their logarithms: 2^n overflows from n = 1024 on.
  let logTerm = -n * Math.LN2, tail = Math.exp(logTerm);
  for (let i = 0; i < k; i++) {
    logTerm += Math.log((n - i) / (i + 1));
    tail += Math.exp(logTerm);
  }
  return Math.min(1, 2 * tail);
}

/** Share of random signs that make the sum at least as far from 0 as it is (itself counted). */
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

/** Unbiased chance that one of `k` of the `n` samples, `c` of them correct, is correct. */
export function passAtK(n: number, c: number, k: number): number {
  if (!(k >= 1 && k <= n && c >= 0 && c <= n)) {
    throw new RangeError(`passAtK(${n}, ${c}, ${k}) needs 1 ≤ k ≤ n and 0 ≤ c ≤ n`);
  }
  if (n - c < k) return 1;
  let allWrong = 1;
  for (let i = n - c + 1; i <= n; i++) allWrong *= 1 - k / i;
  return 1 - allWrong;
}

/** 1, 2, 4 … below `samples`, and `samples`. */
export function passLevels(samples: number): number[] {
  const levels: number[] = [];
  for (let k = 1; k < samples; k *= 2) levels.push(k);
  return [...levels, samples];
}

/**
 * Index of the sample whose answer was given most often (the earliest of equals); -1 when none has one.
 * @param same whether two texts are one answer; default: when they are equal
 */
export function majorityIndex(
  answers: readonly (string | null)[],
  same: (answer: string, other: string) => boolean = () => false,
): number {
  const kinds: { votes: number; first: number; text: string }[] = [];
  const known = new Map<string, (typeof kinds)[number]>();
  for (const [i, text] of answers.entries()) {
    if (text === null) continue;
    let kind = known.get(text) ?? kinds.find((other) => same(text, other.text));
    if (kind === undefined) kinds.push(kind = { votes: 0, first: i, text });
    known.set(text, kind);
    kind.votes++;
  }
  const most = Math.max(0, ...kinds.map(({ votes }) => votes));
  return kinds.find(({ votes }) => votes === most)?.first ?? -1;
}
