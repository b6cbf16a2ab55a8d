/** Real numbers: exact where they are short fractions, else balls. */
import * as balls from "./ball.ts";
import type { Fraction } from "./rational.ts";
import { bitsOf, exactRoot, isShort, magnitude, over, plus, power, times } from "./rational.ts";

export type Real = Fraction | balls.Ball;

export const isExact = (a: Real): a is Fraction => "d" in a;

/** The number as a ball of about `bits` bits. */
export const toBall = (a: Real, bits: number): balls.Ball => isExact(a) ? balls.of(a, bits) : a;

function either(
  exact: (a: Fraction, b: Fraction) => Fraction,
  enclosed: (a: balls.Ball, b: balls.Ball, bits: number) => balls.Ball,
): (a: Real, b: Real, bits: number) => Real {
  return (a, b, bits) => {
    if (!isExact(a) || !isExact(b)) return enclosed(toBall(a, bits), toBall(b, bits), bits);
    const value = exact(a, b);
    return isShort(value) ? value : balls.of(value, bits);
  };
}

const isZero = (a: Real) => isExact(a) && a.n === 0n;

export const add = either(plus, balls.add);
const product = either(times, balls.multiply);
/** Also exact where one factor is 0. */
export const multiply = (a: Real, b: Real, bits: number): Real =>
  isZero(a) ? a : isZero(b) ? b : product(a, b, bits);
/** @throws RangeError where b is or may be 0 */
export const divide = either(over, balls.divide);

export const negate = (a: Real): Real => isExact(a) ? { n: -a.n, d: a.d } : balls.negate(a);

/** null: the ball holds 0 and other numbers. */
export const signOf = (a: Real): 1 | -1 | 0 | null =>
  isExact(a) ? (a.n > 0n ? 1 : a.n < 0n ? -1 : 0) : balls.signOf(a);

export const absolute = (a: Real, bits: number): Real =>
  isExact(a) ? { n: magnitude(a.n), d: a.d } : balls.size(a, bits);

const MAX_DEGREE = 1000n;
/** From here on Newton's method is slower than exp and ln. */
const HIGH_DEGREE = 8n;

/** The root of a number ≥ 0, or a ball that holds such. @throws RangeError for other degrees */
export function rootOf(a: Real, degree: bigint, bits: number): Real {
  if (degree < 1n || degree > MAX_DEGREE) {
    throw new RangeError(`a root's degree must be from 1 to ${MAX_DEGREE}`);
  }
  const exact = isExact(a) ? exactRoot(a, degree) : null;
  if (exact !== null) return exact;
  return degree < HIGH_DEGREE || signOf(a) !== 1
    ? balls.root(toBall(a, bits + 8), degree, bits)
    : realPower(a, { n: 1n, d: degree }, bits);
}

/** a^n for a whole n. */
export function wholePower(a: Real, n: bigint, bits: number): Real {
  const exact = isExact(a) ? power(a, n) : null;
  if (exact !== null) return exact;
  if (bitsOf(n) > 64) throw new RangeError("an exponent of this size is not computed");
  const wanted = bits + bitsOf(n) + 8;
  let square = toBall(a, wanted), value: balls.Ball = { m: 1n, r: 0n, e: 0 };
  for (let left = magnitude(n); left > 0n; left >>= 1n) {
    if (left & 1n) value = balls.multiply(value, square, wanted);
    if (left > 1n) square = balls.multiply(square, square, wanted);
  }
  return n < 0n ? balls.divide({ m: 1n, r: 0n, e: 0 }, value, bits) : value;
}

/** a^b for a > 0. */
export function realPower(a: Real, b: Real, bits: number): Real {
  const exponent = toBall(b, bits + 64);
  return balls.exp(
    balls.multiply(balls.ln(toBall(a, bits + 64), bits + 64), exponent, bits + 64),
    bits,
  );
}

export function toNumber(a: Real): number {
  return balls.approximate(toBall(a, 64));
}
