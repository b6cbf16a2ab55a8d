/** Exact fractions of integers. */

export interface Fraction {
  n: bigint;
  /** Positive; no common factor with n. */
  d: bigint;
}

/** Fractions with longer parts are not kept exactly. */
const MAX_BITS = 4096;
const LIMIT = 1n << BigInt(MAX_BITS);

export const magnitude = (n: bigint) => n < 0n ? -n : n;

/** log2 |n|, rounded up; it may be up to 4 too large. 0 for 0. */
export function bitsOf(n: bigint): number {
  const near = Math.abs(Number(n));
  if (near < 2) return near;
  if (near < 1e300) return Math.ceil(Math.log2(near)) + 1;
  return magnitude(n).toString(16).length * 4;
}

function gcd(a: bigint, b: bigint): bigint {
  while (b !== 0n) [a, b] = [b, a % b];
  return a;
}

/** n/d in lowest terms. @throws RangeError when d is 0 */
export function fraction(n: bigint, d = 1n): Fraction {
  if (d === 1n) return { n, d };
  if (d === 0n) throw new RangeError("division by zero");
  if (d < 0n) [n, d] = [-n, -d];
  const common = gcd(magnitude(n), d);
  return common > 1n ? { n: n / common, d: d / common } : { n, d };
}

export const ZERO: Fraction = { n: 0n, d: 1n };
export const ONE: Fraction = { n: 1n, d: 1n };

/** Whether a fraction is short enough to be kept exactly. */
export const isShort = ({ n, d }: Fraction) => magnitude(n) < LIMIT && d < LIMIT;

export const plus = (a: Fraction, b: Fraction): Fraction =>
  fraction(a.n * b.d + b.n * a.d, a.d * b.d);
export const times = (a: Fraction, b: Fraction): Fraction => fraction(a.n * b.n, a.d * b.d);
/** @throws RangeError when b is 0 */
export const over = (a: Fraction, b: Fraction): Fraction => fraction(a.n * b.d, a.d * b.n);
export const same = (a: Fraction, b: Fraction): boolean => a.n === b.n && a.d === b.d;

/** a^n; null where it would be too long. @throws RangeError for 0 to a power below 1 */
export function power(a: Fraction, n: bigint): Fraction | null {
  if (a.n === 0n) {
    if (n <= 0n) throw new RangeError("0 to a power that is not positive");
    return ZERO;
  }
  if (n < 0n) return power(fraction(a.d, a.n), -n);
  if (a.d === 1n && (a.n === 1n || a.n === -1n)) return n % 2n === 0n ? ONE : a;
  const bits = Math.max(bitsOf(a.n), bitsOf(a.d)) - 4;
  if (n > MAX_BITS || Number(n) * bits > MAX_BITS) return null;
  return { n: a.n ** n, d: a.d ** n };
}

/** floor(n^(1/degree)) of n ≥ 0, by Newton's method from above. */
export function integerRoot(n: bigint, degree: bigint): bigint {
  if (n < 2n || degree === 1n) return n;
  let x = 1n << BigInt(Math.ceil(bitsOf(n) / Number(degree)));
  for (;;) {
    const next = ((degree - 1n) * x + n / x ** (degree - 1n)) / degree;
    if (next >= x) return x;
    x = next;
  }
}

/** The root of a fraction ≥ 0 where it is a fraction; else null. */
export function exactRoot(a: Fraction, degree: bigint): Fraction | null {
  const n = integerRoot(a.n, degree);
  if (n ** degree !== a.n) return null;
  const d = integerRoot(a.d, degree);
  return d ** degree === a.d ? { n, d } : null;
}
