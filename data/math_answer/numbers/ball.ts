/**
 * Interval arithmetic on bigints. A ball (m ± r)·2^e surely contains the number that it stands for
 * (Johansson 2017, "Arb").
 */
import { bitsOf, type Fraction, integerRoot, magnitude } from "./rational.ts";

export interface Ball {
  m: bigint;
  /** ≥ 0 */
  r: bigint;
  e: number;
}

/** Numbers beyond 2^(±MAX_EXPONENT) have no ball. */
const MAX_EXPONENT = 2 ** 44;

/** m is cut to about `bits` bits; the radius grows by the lost part. */
export function ball(m: bigint, r: bigint, e: number, bits: number): Ball {
  const extra = Math.max(bitsOf(m), bitsOf(r) - 20) - bits - 8;
  if (extra > 0) {
    const shift = BigInt(extra);
    m >>= shift;
    r = (r >> shift) + 2n;
    e += extra;
  }
  if (Math.abs(e) > MAX_EXPONENT) throw new RangeError("a number of this size is not computed");
  return { m, r, e };
}

export function ballOf({ n, d }: Fraction, bits: number): Ball {
  if (d === 1n) return ball(n, 0n, 0, bits);
  const shift = Math.max(0, bits + 8 - bitsOf(n) + bitsOf(d));
  return ball((n << BigInt(shift)) / d, 1n, -shift, bits);
}

export function addBalls(a: Ball, b: Ball, bits: number): Ball {
  if (a.m === 0n && a.r === 0n) return b;
  if (b.m === 0n && b.r === 0n) return a;
  if (a.e < b.e) [a, b] = [b, a];
  const e = Math.max(b.e, a.e - 2 * bits - 64), up = BigInt(a.e - e);
  const low = lowered(b, e);
  return ball((a.m << up) + low.m, (a.r << up) + low.r, e, bits);
}

/** A ball with a higher exponent. */
function lowered(a: Ball, e: number): Ball {
  if (a.e === e) return a;
  const down = e - a.e;
  if (down > bitsOf(a.m) + bitsOf(a.r)) return { m: 0n, r: 2n, e };
  return { m: a.m >> BigInt(down), r: (a.r >> BigInt(down)) + 2n, e };
}

export const negateBall = (a: Ball): Ball => ({ ...a, m: -a.m });

export function multiplyBalls(a: Ball, b: Ball, bits: number): Ball {
  const r = magnitude(a.m) * b.r + magnitude(b.m) * a.r + a.r * b.r;
  return ball(a.m * b.m, r, a.e + b.e, bits);
}

/** @throws RangeError where b may be 0 */
export function divideBalls(a: Ball, b: Ball, bits: number): Ball {
  const size = magnitude(b.m), least = size - b.r;
  if (least <= 0n) throw new RangeError("division by zero");
  const shift = BigInt(Math.max(0, bits + 8 + bitsOf(b.m) - bitsOf(a.m)));
  const m = (a.m << shift) / b.m;
  const error = (magnitude(a.m) * b.r + a.r * size) << shift;
  return ball(m, error / (size * least) + 2n, a.e - b.e - Number(shift), bits);
}

/** The sign of all numbers in the ball; null if they have different signs. */
export function signOfBall(a: Ball): 1 | -1 | 0 | null {
  if (a.m > a.r) return 1;
  if (-a.m > a.r) return -1;
  return a.m === 0n && a.r === 0n ? 0 : null;
}

/** The root of a number ≥ 0; negative numbers in the ball count as 0. */
export function rootOfBall(a: Ball, degree: bigint, bits: number): Ball {
  const k = Number(degree);
  const low = a.m > a.r ? a.m - a.r : 0n, high = a.m + a.r > 0n ? a.m + a.r : 0n;
  let shift = Math.max(0, k * (bits + 8) - bitsOf(high));
  shift += (((a.e - shift) % k) + k) % k;
  const up = BigInt(shift);
  const from = integerRoot(low << up, degree);
  const to = high === low && a.r === 0n ? from + 1n : integerRoot(high << up, degree) + 1n;
  return between(from, to, (a.e - shift) / k, bits);
}

/** The ball from low·2^e to high·2^e. */
function between(low: bigint, high: bigint, e: number, bits: number): Ball {
  return ball(low + high, high - low, e - 1, bits);
}

/** |a| */
export function sizeOfBall(a: Ball, bits: number): Ball {
  const sign = signOfBall(a);
  if (sign !== null) return sign < 0 ? negateBall(a) : a;
  return between(0n, magnitude(a.m) + a.r, a.e, bits);
}

/** log2 of the largest magnitude in the ball, rounded up; −Infinity for 0. */
export function topBit(a: Ball): number {
  const top = magnitude(a.m) + a.r;
  return top === 0n ? -Infinity : bitsOf(top) + a.e;
}

/** log2 of the radius, rounded up; −Infinity for an exact ball. */
export const radiusBit = (a: Ball): number => a.r === 0n ? -Infinity : bitsOf(a.r) + a.e;

/** floor; null where the ball holds numbers with different ones. */
export function floorOfBall(a: Ball): bigint | null {
  if (a.e > 4096) return null;
  const floor = (m: bigint) => a.e >= 0 ? m << BigInt(a.e) : m >> BigInt(-a.e);
  const low = floor(a.m - a.r);
  return low === floor(a.m + a.r) ? low : null;
}

/** A float64 near the number, ±Infinity or 0 beyond its range. */
export function approximate(a: Ball): number {
  const shift = Math.max(0, bitsOf(a.m) - 60);
  return Number(a.m >> BigInt(shift)) * 2 ** (a.e + shift);
}
