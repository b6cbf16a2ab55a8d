/** The real roots of a polynomial equation. */
import type { RandomStream } from "../../../core/philox.ts";
import { choices, type ConfigOf, counts, defineTask, sizes } from "../../define.ts";
import { parseDecimal } from "../../python/decimals.ts";
import { reprFloat, round } from "../../python/repr.ts";
import { isBlank, strip } from "../../python/text.ts";
import { powerText, sumText } from "./formula_text.ts";

/** Excludes i and j, which could be read as the imaginary unit. */
const LETTERS = "abcdefghklmnopqrstuvwxyz";
/** Maximum number of attempts to draw an equation with a real root. */
const DRAWS = 20;
const DECIMALS = 4;
/** In characters; no list of roots is longer. */
const MAX_LENGTH = 20_000;
/** An underscore that is not between two digits. Python allows none in a number. */
const MISPLACED = /(?<!\p{Nd})_|_(?!\p{Nd})/u;

const params = {
  degree: sizes([1, 3], "degree", { min: 1, max: 20, spans: [1, 2, 3, 4] }),
  value: sizes([1, 100], "coefficient", { min: 1, max: 1e9 }),
  terms: counts([2, 4], "terms that are drawn", { min: 1, levels: [2, 3, 4, 5] }),
  operators: choices(["+", "-"], "signs of terms", ["+", "-"]),
};

type Config = ConfigOf<typeof params>;

export default defineTask({
  description: "Find the real roots of a polynomial equation.",
  scoring:
    "The mean of e^(-10 d) over the roots given, each matched with the nearest right one at a " +
    "distance d, minus 0.5 for each root missing or too many, at least 0. Without real roots " +
    "only a blank is right.",
  acceptsBlank: true,
  params,
  generate(random, config) {
    const variable = LETTERS[random.below(LETTERS.length)]!;
    let degree = 0, terms = 0, coefficients: number[] = [], roots: number[] = [];
    for (let draw = 0; draw < DRAWS && roots.length === 0; draw++) {
      degree = random.int(config.min_degree, config.max_degree);
      terms = random.int(config.min_terms, config.max_terms);
      coefficients = drawCoefficients(random, config, degree, terms);
      roots = realRoots(coefficients);
    }
    const solutions = [...new Set(roots.map((root) => round(root, DECIMALS) + 0))];
    const polynomial_expr = sumText(
      coefficients.map((numerator, i) => ({ numerator, factor: powerText(variable, i) })).reverse(),
    );
    return {
      question: `Find all real values of ${variable} for which ${polynomial_expr} = 0.\n` +
        "Answer with the different values in ascending order as decimal numbers, rounded to " +
        `${DECIMALS} places and separated by commas, such as -1.25, 0.3333. If there is none, ` +
        'answer with "".',
      answer: solutions.map(reprFloat).join(", "),
      metadata: { polynomial_expr, variable, degree, real_solutions: solutions, num_terms: terms },
      difficulty: {
        terms: [config.min_terms, config.max_terms],
        degree: [config.min_degree, config.max_degree],
      },
    };
  },
  score(answer, entry) {
    const oracle = numbers(entry.answer ?? "", Infinity) ?? [];
    if (oracle.length === 0) return isBlank(answer) || strip(answer) === '""' ? 1 : 0;
    if (answer.length > MAX_LENGTH) return 0;
    // One surplus number costs 0.5, so with two of them the score is 0 already.
    const given = numbers(answer, oracle.length + 1);
    if (given === null || given.length === 0) return 0;
    given.sort((a, b) => a - b);
    const left = [...oracle];
    let sum = 0, matched = 0;
    for (const value of given) {
      if (left.length === 0) break;
      let nearest = 0;
      for (let i = 1; i < left.length; i++) {
        if (Math.abs(left[i]! - value) < Math.abs(left[nearest]! - value)) nearest = i;
      }
      sum += Math.exp(-10 * Math.abs(left[nearest]! - value));
      matched++;
      left.splice(nearest, 1);
    }
    return Math.max(0, sum / matched - 0.5 * Math.abs(given.length - oracle.length));
  },
});

function drawCoefficients(
  random: RandomStream,
  { min_value, max_value, operators }: Config,
  degree: number,
  terms: number,
): number[] {
  const coefficients = new Array<number>(degree + 1).fill(0);
  let first = 0;
  for (let i = 0; i < terms; i++) {
    const size = random.int(min_value, max_value);
    const value = operators.includes("-") && random.chance(0.5) ? -size : size;
    if (i === 0) first = value;
    coefficients[i === 0 ? degree : random.int(0, degree)]! += value;
  }
  // Restores the drawn degree in case the highest terms cancelled.
  if (coefficients[degree] === 0) coefficients[degree] = first;
  return coefficients;
}

/**
 * Reads the numbers between the commas of a text and skips other parts. Returns null when there are
 * more than `limit`.
 */
function numbers(text: string, limit: number): number[] | null {
  const list: number[] = [];
  for (let start = 0; start <= text.length;) {
    const comma = text.indexOf(",", start), end = comma < 0 ? text.length : comma;
    const part = text.slice(start, end);
    const decimal = MISPLACED.test(part) ? null : parseDecimal(part);
    if (decimal !== null) {
      const size = Number(`${decimal.digits}e${decimal.exponent}`);
      if (list.push(decimal.negative ? -size : size) > limit) return null;
    }
    start = end + 1;
  }
  return list;
}

/**
 * The distinct real roots of a polynomial with integer coefficients. The roots of the derivative
 * separate the roots, which are then found by bisection. Where rounding leaves the sign of a value
 * undecided, exact arithmetic decides it. So close roots are separated and double roots are found.
 */

/** Ascending roots of Σ c[i]·xⁱ, each exact to the last places of a double. None for a constant. */
export function realRoots(coefficients: readonly number[]): number[] {
  const zero = coefficients.findIndex((c) => c !== 0);
  const rest = zero < 0 ? [] : trim(coefficients.slice(zero));
  const roots = rest.length < 2 ? [] : rootsOfSquareFree(squareFree(rest.map(BigInt)));
  if (zero > 0) roots.push(0);
  return roots.sort((a, b) => a - b);
}

function trim<T extends number | bigint>(c: T[]): T[] {
  while (c.length > 0 && c[c.length - 1] == 0) c.pop();
  return c;
}

function derivative(c: readonly bigint[]): bigint[] {
  return c.slice(1).map((value, i) => value * BigInt(i + 1));
}

/** The polynomial with the same roots, each once: p / gcd(p, p'). */
function squareFree(p: bigint[]): bigint[] {
  const common = gcd(p, derivative(p));
  return common.length < 2 ? p : quotient(p, common);
}

/** A greatest common divisor with integer coefficients, by pseudo-remainders. */
function gcd(a: bigint[], b: bigint[]): bigint[] {
  while (b.length > 0) [a, b] = [b, primitive(pseudoRemainder(a, b))];
  return primitive(a);
}

function pseudoRemainder(a: readonly bigint[], b: readonly bigint[]): bigint[] {
  const rest = [...a], lead = b[b.length - 1]!;
  while (rest.length >= b.length) {
    const top = rest[rest.length - 1]!, shift = rest.length - b.length;
    for (let i = 0; i < rest.length; i++) rest[i] = rest[i]! * lead;
    for (let i = 0; i < b.length; i++) rest[shift + i] = rest[shift + i]! - top * b[i]!;
    trim(rest);
  }
  return rest;
}

function primitive(c: bigint[]): bigint[] {
  let common = 0n;
  for (let value of c) {
    while (value !== 0n) [common, value] = [value, common % value];
  }
  return common === 0n ? c : c.map((value) => value / common);
}

/** a / b up to a constant factor, where b divides a. */
function quotient(a: readonly bigint[], b: readonly bigint[]): bigint[] {
  const rest = [...a], lead = b[b.length - 1]!, result: bigint[] = [];
  for (let shift = a.length - b.length; shift >= 0; shift--) {
    for (let i = 0; i < rest.length; i++) rest[i] = rest[i]! * lead;
    for (let i = 0; i < result.length; i++) result[i] = result[i]! * lead;
    const factor = rest[shift + b.length - 1]! / lead;
    for (let i = 0; i < b.length; i++) rest[shift + i] = rest[shift + i]! - factor * b[i]!;
    result.unshift(factor);
  }
  return primitive(result);
}

function rootsOfSquareFree(p: bigint[]): number[] {
  if (p.length === 2) return [Number(-p[0]!) / Number(p[1]!)];
  const bound = 1 + Math.max(...p.slice(0, -1).map((c) => Math.abs(Number(c)))) /
      Math.abs(Number(p[p.length - 1]!));
  const turns = rootsOfSquareFree(squareFree(derivative(p)));
  const sign = signOf(p), roots: number[] = [];
  let low = -bound, signLow = sign(low);
  for (const high of [...turns, bound]) {
    const signHigh = sign(high);
    if (signHigh === 0) roots.push(high);
    else if (signLow * signHigh < 0) roots.push(bisect(sign, low, high, signLow));
    low = high;
    signLow = signHigh;
  }
  return roots;
}

/** Halves the interval until its ends are neighbouring doubles. */
function bisect(sign: (x: number) => number, low: number, high: number, signLow: number): number {
  for (;;) {
    const middle = low + (high - low) / 2;
    if (middle <= low || middle >= high) return middle;
    const found = sign(middle);
    if (found === 0) return middle;
    if (found === signLow) low = middle;
    else high = middle;
  }
}

/**
 * Returns a function for the sign of p(x). It uses Horner's rule with an error bound, and exact
 * arithmetic where the bound does not decide.
 */
function signOf(p: readonly bigint[]): (x: number) => number {
  const c = p.map(Number);
  return (x) => {
    let value = 0, size = 0;
    for (let i = c.length - 1; i >= 0; i--) {
      value = value * x + c[i]!;
      size = size * Math.abs(x) + Math.abs(c[i]!);
    }
    if (Math.abs(value) > size * c.length * 2 ** -51) return Math.sign(value);
    return exactSign(p, x);
  };
}

/** The exact sign. With x = n / 2^k it is the sign of Σ c[i]·nⁱ·2^(k·(degree − i)). */
function exactSign(p: readonly bigint[], x: number): number {
  let k = 0;
  while (!Number.isInteger(x)) {
    x *= 2;
    k++;
  }
  const n = BigInt(x);
  let value = 0n, scale = 1n;
  for (let i = p.length - 1; i >= 0; i--) {
    value = value * n + p[i]! * scale;
    scale <<= BigInt(k);
  }
  return value > 0n ? 1 : value < 0n ? -1 : 0;
}
