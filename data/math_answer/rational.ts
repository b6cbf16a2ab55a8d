/**
 * Real numbers for comparing answers: a float64, and an exact fraction where there is one.
 * Fractions that grow beyond {@link MAX_BITS} continue as floats.
 */

export interface Fraction {
  n: bigint;
  /** Positive; no common factor with n. */
  d: bigint;
}

export interface Real {
  /** null: the number is irrational, or too large to be kept exactly. */
  exact: Fraction | null;
  approx: number;
}

const MAX_BITS = 4096;
const MAX_DEGREE = 64n;
const LIMIT = 1n << BigInt(MAX_BITS);

function gcd(a: bigint, b: bigint): bigint {
  while (b !== 0n) [a, b] = [b, a % b];
  return a;
}

export const magnitude = (n: bigint) => n < 0n ? -n : n;

/** n/d as a float64, even where n and d are beyond its range. */
function quotient(n: bigint, d: bigint): number {
  const excess = Math.max(magnitude(n).toString(16).length, d.toString(16).length) * 4 - 1000;
  if (excess <= 0) return Number(n) / Number(d);
  const shift = BigInt(excess), sign = n < 0n ? -1 : 1;
  return sign * Number(magnitude(n) >> shift) / Number(d >> shift);
}

/** n/d in lowest terms. @throws RangeError when d is 0 */
export function fraction(n: bigint, d = 1n): Real {
  if (d === 0n) throw new RangeError("division by zero");
  if (d < 0n) [n, d] = [-n, -d];
  const common = gcd(magnitude(n), d);
  if (common > 1n) [n, d] = [n / common, d / common];
  const approx = quotient(n, d);
  return { exact: magnitude(n) < LIMIT && d < LIMIT ? { n, d } : null, approx };
}

export const irrational = (approx: number): Real => ({ exact: null, approx });

export function add(a: Real, b: Real): Real {
  if (a.exact === null || b.exact === null) return irrational(a.approx + b.approx);
  return fraction(a.exact.n * b.exact.d + b.exact.n * a.exact.d, a.exact.d * b.exact.d);
}

export function multiply(a: Real, b: Real): Real {
  if (a.exact === null || b.exact === null) return irrational(a.approx * b.approx);
  return fraction(a.exact.n * b.exact.n, a.exact.d * b.exact.d);
}

/** @throws RangeError when b is 0 */
export function divide(a: Real, b: Real): Real {
  if (b.approx === 0) throw new RangeError("division by zero");
  if (a.exact === null || b.exact === null) return irrational(a.approx / b.approx);
  return fraction(a.exact.n * b.exact.d, a.exact.d * b.exact.n);
}

export const negate = (a: Real): Real => multiply(fraction(-1n), a);

/** a^b; exact where b is a fraction with a small numerator and the root of a is exact. */
export function power(a: Real, b: Real): Real {
  if (b.exact === null || a.exact === null) return irrational(a.approx ** b.approx);
  const { n, d } = b.exact;
  if (d > MAX_DEGREE) return irrational(a.approx ** b.approx);
  if (d !== 1n) return power(root(a, d), fraction(n));
  const size = Number(magnitude(n));
  const bits = magnitude(a.exact.n).toString(2).length + a.exact.d.toString(2).length;
  if (size * bits > MAX_BITS) return irrational(a.approx ** Number(n));
  const up = fraction(a.exact.n ** BigInt(size), a.exact.d ** BigInt(size));
  return n < 0n ? divide(fraction(1n), up) : up;
}

/** The real root of a degree ≥ 1. @throws RangeError when there is none */
export function root(a: Real, degree: bigint): Real {
  if (degree < 1n || degree > MAX_DEGREE) {
    throw new RangeError(`a root's degree must be from 1 to ${MAX_DEGREE}`);
  }
  const odd = degree % 2n === 1n;
  if (a.approx < 0 && !odd) throw new RangeError("an even root of a negative number");
  if (a.exact !== null) {
    const n = integerRoot(magnitude(a.exact.n), degree), d = integerRoot(a.exact.d, degree);
    if (n !== null && d !== null) return fraction(a.exact.n < 0n ? -n : n, d);
  }
  return irrational(Math.sign(a.approx) * Math.abs(a.approx) ** (1 / Number(degree)));
}

/** The integer root of n ≥ 0, by bisection; null when the root is not an integer. */
function integerRoot(n: bigint, degree: bigint): bigint | null {
  let low = 0n, high = 1n << BigInt(Math.ceil(n.toString(2).length / Number(degree)));
  while (low <= high) {
    const middle = (low + high) >> 1n, value = middle ** degree;
    if (value === n) return middle;
    if (value < n) low = middle + 1n;
    else high = middle - 1n;
  }
  return null;
}

const TOLERANCE = 1e-6;

/** Equal exactly where both are exact, else within 10⁻⁶ relative to the larger one. */
export function sameReal(a: Real, b: Real): boolean {
  if (a.exact !== null && b.exact !== null) {
    return a.exact.n === b.exact.n && a.exact.d === b.exact.d;
  }
  if (a.approx === b.approx) return true;
  const scale = Math.max(Math.abs(a.approx), Math.abs(b.approx));
  return Math.abs(a.approx - b.approx) <= TOLERANCE * scale && Number.isFinite(scale);
}
