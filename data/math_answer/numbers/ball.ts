/**
 * Interval arithmetic on bigints, with exp, ln, sin, cos, arctan and π. A ball (m ± r)·2^e surely
 * contains the number that it stands for (Johansson 2017, "Arb").
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

export function of({ n, d }: Fraction, bits: number): Ball {
  if (d === 1n) return ball(n, 0n, 0, bits);
  const shift = Math.max(0, bits + 8 - bitsOf(n) + bitsOf(d));
  return ball((n << BigInt(shift)) / d, 1n, -shift, bits);
}

export function add(a: Ball, b: Ball, bits: number): Ball {
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

export const negate = (a: Ball): Ball => ({ ...a, m: -a.m });

export function multiply(a: Ball, b: Ball, bits: number): Ball {
  const r = magnitude(a.m) * b.r + magnitude(b.m) * a.r + a.r * b.r;
  return ball(a.m * b.m, r, a.e + b.e, bits);
}

/** @throws RangeError where b may be 0 */
export function divide(a: Ball, b: Ball, bits: number): Ball {
  const size = magnitude(b.m), least = size - b.r;
  if (least <= 0n) throw new RangeError("division by zero");
  const shift = BigInt(Math.max(0, bits + 8 + bitsOf(b.m) - bitsOf(a.m)));
  const m = (a.m << shift) / b.m;
  const error = (magnitude(a.m) * b.r + a.r * size) << shift;
  return ball(m, error / (size * least) + 2n, a.e - b.e - Number(shift), bits);
}

/** The sign of all numbers in the ball; null if they have different signs. */
export function signOf(a: Ball): 1 | -1 | 0 | null {
  if (a.m > a.r) return 1;
  if (-a.m > a.r) return -1;
  return a.m === 0n && a.r === 0n ? 0 : null;
}

/** The root of a number ≥ 0; negative numbers in the ball count as 0. */
export function root(a: Ball, degree: bigint, bits: number): Ball {
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
export function size(a: Ball, bits: number): Ball {
  const sign = signOf(a);
  if (sign !== null) return sign < 0 ? negate(a) : a;
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
export function floor(a: Ball): bigint | null {
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

// Functions, each computed with fixed-point bigints.

/** Bits beyond the wanted ones; their last 16 absorb the rounding of all terms of a series. */
const GUARD = 40, LOST = 1n << 16n;

const ONE: Ball = { m: 1n, r: 0n, e: 0 };

/** artanh(1/n) or, alternating, arctan(1/n), times 2^bits. */
function inverse(n: bigint, bits: number, alternating: boolean): bigint {
  let term = (1n << BigInt(bits)) / n, sum = term;
  for (let k = 3n, sign = -1n; term !== 0n; k += 2n, sign = -sign) {
    term /= n * n;
    sum += alternating ? sign * (term / k) : term / k;
  }
  return sum;
}

function cached(compute: (bits: number) => bigint): (bits: number) => Ball {
  const known = new Map<number, Ball>();
  return (bits) => {
    const wanted = bits + GUARD;
    let value = known.get(wanted);
    if (value === undefined) {
      value = { m: compute(wanted), r: LOST, e: -wanted };
      if (known.size > 50) known.clear();
      known.set(wanted, value);
    }
    return value;
  };
}

/** Machin's formula. */
export const pi = cached((bits) => 16n * inverse(5n, bits, true) - 4n * inverse(239n, bits, true));
const ln2Ball = cached((bits) => 2n * inverse(3n, bits, false));

/** The middle of a ball as a fixed-point number. */
function fixed(a: Ball, bits: number): bigint {
  const shift = a.e + bits;
  return shift >= 0 ? a.m << BigInt(shift) : a.m >> BigInt(-shift);
}

/** A ball from the computed middle in fixed point, and the error that comes from the argument. */
function result(m: bigint, wanted: number, argument: Ball, bits: number): Ball {
  const error = argument.r === 0n
    ? 0n
    : argument.e + wanted >= 0
    ? argument.r << BigInt(argument.e + wanted)
    : (argument.r >> BigInt(-argument.e - wanted)) + 1n;
  return ball(m, error + LOST, -wanted, bits);
}

/** x less a whole multiple of a period, and the multiple. */
function reduced(x: Ball, period: (bits: number) => Ball, bits: number): [Ball, bigint] {
  const wanted = bits + Math.max(0, topBit(x));
  if (wanted > 6000) throw new RangeError("an argument of this size is not computed");
  const unit = period(wanted);
  const turns = divide(x, unit, wanted);
  const half = add(turns, { m: 1n, r: 0n, e: -1 }, wanted);
  const count = floor({ ...half, r: 0n }) ?? 0n;
  const rest = add(x, negate(multiply(unit, ball(count, 0n, 0, wanted), wanted)), wanted);
  return [rest, count];
}

export function exp(x: Ball, bits: number): Ball {
  if (topBit(x) > 42) throw new RangeError("a number of this size is not computed");
  if (radiusBit(x) > -2) throw new RangeError("the argument is not known well enough");
  const [rest, turns] = reduced(x, ln2Ball, bits);
  const wanted = bits + GUARD, one = 1n << BigInt(wanted);
  // e^t = (e^(t/2^8))^(2^8) makes the series short.
  const t = fixed(rest, wanted) >> 8n;
  let sum = one, term = one;
  for (let k = 1n; term !== 0n && term !== -1n; k++) {
    term = ((term * t) >> BigInt(wanted)) / k;
    sum += term;
  }
  for (let i = 0; i < 8; i++) sum = (sum * sum) >> BigInt(wanted);
  // e^rest < 2, and |e^δ − 1| ≤ 2|δ|.
  const near = result(sum, wanted, { ...rest, r: rest.r * 4n }, bits);
  return ball(near.m, near.r, near.e + Number(turns), bits);
}

/** @throws RangeError unless x > 0 */
export function ln(x: Ball, bits: number): Ball {
  if (signOf(x) !== 1) throw new RangeError("the logarithm of no positive number");
  const size = bitsOf(x.m) + x.e;
  // y = x / 2^size is from 1/16 to 1; ln y = 2 artanh((y − 1)/(y + 1)).
  const wanted = bits + GUARD;
  const y: Ball = { ...x, e: x.e - size };
  let shift = 0;
  let m = fixed(y, wanted);
  while (m < (3n << BigInt(wanted - 2))) {
    m <<= 1n;
    shift++;
  }
  const one = 1n << BigInt(wanted);
  const z = ((m - one) << BigInt(wanted)) / (m + one), square = (z * z) >> BigInt(wanted);
  let sum = z, term = z;
  for (let k = 3n; term !== 0n && term !== -1n; k += 2n) {
    term = (term * square) >> BigInt(wanted);
    sum += term / k;
  }
  // |ln'| ≤ 1 / (lowest y) ≤ 16 · x.m / (x.m − x.r)
  const error = x.r === 0n ? 0n : (x.r << BigInt(wanted + 1)) / (x.m - x.r) + 1n;
  const near = ball(2n * sum, error + LOST, -wanted, bits);
  const powers = ball(BigInt(size - shift), 0n, 0, bits);
  return add(near, multiply(ln2Ball(bits + 50), powers, bits + 50), bits);
}

const quarter = (bits: number): Ball => {
  const twice = pi(bits);
  return { ...twice, e: twice.e - 1 };
};

export function sinCos(x: Ball, bits: number): [sin: Ball, cos: Ball] {
  const [rest, turns] = reduced(x, quarter, bits);
  const wanted = bits + GUARD, one = 1n << BigInt(wanted);
  const t = fixed(rest, wanted), square = (t * t) >> BigInt(wanted);
  const series = (start: bigint, first: bigint): Ball => {
    let sum = start, term = start;
    for (let k = first; term !== 0n && term !== -1n; k += 2n) {
      term = -((term * square) >> BigInt(wanted)) / (k * (k + 1n));
      sum += term;
    }
    return result(sum, wanted, rest, bits);
  };
  const sin = series(t, 2n), cos = series(one, 1n);
  switch (((turns % 4n) + 4n) % 4n) {
    case 0n:
      return [sin, cos];
    case 1n:
      return [cos, negate(sin)];
    case 2n:
      return [negate(sin), negate(cos)];
    default:
      return [negate(cos), sin];
  }
}

export function arctan(x: Ball, bits: number): Ball {
  const wanted = bits + GUARD;
  if (topBit({ ...x, r: 0n }) > 1) {
    const sign = signOf(x);
    if (sign === null) throw new RangeError("the argument is not known well enough");
    const rest = arctan(divide(ONE, x, wanted), bits);
    const half = quarter(bits);
    return add(sign > 0 ? half : negate(half), negate(rest), bits);
  }
  // arctan x = 2 arctan(x / (1 + √(1 + x²))), three times.
  let y: Ball = x;
  for (let i = 0; i < 3; i++) {
    const hypotenuse = root(add(ONE, multiply(y, y, wanted), wanted), 2n, wanted);
    y = divide(y, add(ONE, hypotenuse, wanted), wanted);
  }
  const t = fixed(y, wanted), square = (t * t) >> BigInt(wanted);
  let sum = t, term = t;
  for (let k = 3n; term !== 0n && term !== -1n && magnitude(term) > 0n; k += 2n) {
    term = -((term * square) >> BigInt(wanted));
    sum += term / k;
  }
  const near = result(sum, wanted, y, bits);
  return ball(near.m, near.r, near.e + 3, bits);
}
