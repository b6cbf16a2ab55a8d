/** The value of a formula at a point, exact or as a ball of any precision. */
import * as balls from "../numbers/ball.ts";
import type { Complex } from "../numbers/complex.ts";
import { add, divide, isReal, multiply, negate, real, size, subtract } from "../numbers/complex.ts";
import type { Expr, Operation } from "./expression.ts";
import { fnv1a } from "../../../core/philox.ts";
import { bitsOf, type Fraction, fraction, magnitude, ONE, ZERO } from "../numbers/rational.ts";
import * as reals from "../numbers/real.ts";

/** Where and how exactly to evaluate. */
export interface Place {
  bits: number;
  /** Values of the unknowns. */
  point: ReadonlyMap<string, reals.Real>;
  /** Counts down; at 0 evaluation stops. */
  work: { left: number };
  /** Which functions the names of unknown functions stand for. */
  variant: number;
  /** Set if an even root of a negative number was taken. */
  leftReals: boolean;
  /** If given, it receives the largest |log2| of all intermediate values. */
  depth?: number;
}

export const WORK = 60_000;

/** A place without unknowns. */
export const constantPlace = (bits: number): Place => ({
  bits,
  point: new Map(),
  work: { left: WORK },
  variant: 0,
  leftReals: false,
});

/** Thrown where the budget is spent or a branch cannot be decided. */
export class Undecided extends Error {}

/** @throws RangeError where there is no value, Undecided where it cannot be found */
export function evaluate(expr: Expr, place: Place): Complex {
  switch (expr.kind) {
    case "number": {
      const value = real(expr.value);
      if (place.depth !== undefined) place.depth = Math.max(place.depth, depthOf(value.re));
      return value;
    }
    case "constant":
      return constant(expr.name, place.bits);
    case "name": {
      const value = place.point.get(expr.name);
      if (value === undefined) throw new Undecided();
      return real(value);
    }
    case "unknown function":
      return unknownFunction(expr.name, expr.args.map((arg) => evaluate(arg, place)), place);
    case "call": {
      const args = expr.args.map((arg) => evaluate(arg, place));
      for (const { re, im } of args) place.work.left -= costOf(re) + costOf(im);
      place.work.left -= place.bits >> 4;
      if (place.work.left < 0) throw new Undecided();
      const value = OPERATIONS[expr.name](args, place);
      if (place.depth !== undefined) {
        const { re, im } = value;
        const depths = [depthOf(re), depthOf(im)];
        // tanh x differs from 1 by 2e^(−2x).
        if (expr.name === "tanh") depths.push(3 * 2 ** depthOf(args[0]!.re));
        place.depth = Math.max(place.depth, ...depths);
      }
      return value;
    }
  }
}

/** |log2| of a number's size; 0 for 0. */
function depthOf(a: reals.Real): number {
  if (reals.isExact(a)) return a.n === 0n ? 0 : Math.abs(bitsOf(a.n) - bitsOf(a.d));
  const top = balls.topBit(a);
  return Number.isFinite(top) ? Math.abs(top) : 0;
}

/** Long fractions take more time. */
function costOf(a: reals.Real): number {
  if (!reals.isExact(a)) return 4;
  const size = bitsOf(a.n) + bitsOf(a.d);
  return 1 + size * size / 4096;
}

function constant(name: "π" | "e" | "i" | "∞", bits: number): Complex {
  if (name === "π") return real(balls.pi(bits));
  if (name === "e") return real(balls.exp(reals.toBall(ONE, bits), bits));
  if (name === "i") return { re: ZERO, im: ONE };
  throw new RangeError("infinity is no number");
}

type Operate = (args: readonly Complex[], place: Place) => Complex;

const ofReal = (compute: (x: reals.Real, bits: number) => reals.Real): Operate => ([x], { bits }) =>
  real(compute(realPart(x!), bits));

function realPart(a: Complex): reals.Real {
  if (!isReal(a)) throw new RangeError("a function of real numbers");
  return a.re;
}

const isNumber = (a: reals.Real, n: bigint) => reals.isExact(a) && a.d === 1n && a.n === n;

const sinCos = (x: reals.Real, bits: number) => balls.sinCos(reals.toBall(x, bits + 16), bits);
const tangent = (x: reals.Real, bits: number) => {
  const [sin, cos] = sinCos(x, bits);
  return balls.divide(sin, cos, bits);
};
const quotient = (above: 1 | null, below: 0 | 1) =>
  ofReal((x, bits) => {
    const values = sinCos(x, bits);
    return balls.divide(
      above === null ? reals.toBall(ONE, bits) : values[above],
      values[below],
      bits,
    );
  });

const hyperbolic = (sign: 1 | -1) => (x: reals.Real, bits: number) => {
  const up = balls.exp(reals.toBall(x, bits + 16), bits + 16);
  const down = balls.divide(reals.toBall(ONE, bits + 16), up, bits + 16);
  return balls.multiply(
    balls.add(up, sign > 0 ? down : balls.negate(down), bits + 16),
    { m: 1n, r: 0n, e: -1 },
    bits,
  );
};

const arcsin = (x: reals.Real, bits: number): reals.Real => {
  const wanted = bits + 16;
  if (isNumber(x, 0n)) return x;
  const rest = subtract(real(ONE), multiply(real(x), real(x), wanted), wanted).re;
  const sign = reals.signOf(rest);
  if (sign === -1) throw new RangeError("the arcsine of a number beyond 1");
  const half = balls.multiply(balls.pi(wanted), { m: 1n, r: 0n, e: -1 }, bits);
  if (sign === 0) return reals.signOf(x) === 1 ? half : balls.negate(half);
  return balls.arctan(
    balls.divide(
      reals.toBall(x, wanted),
      reals.toBall(reals.rootOf(rest, 2n, wanted), wanted),
      wanted,
    ),
    bits,
  );
};

const arccos = (x: reals.Real, bits: number): reals.Real => {
  const half = balls.multiply(balls.pi(bits), { m: 1n, r: 0n, e: -1 }, bits);
  return balls.add(half, balls.negate(reals.toBall(arcsin(x, bits), bits)), bits);
};

const rounded = (up: boolean) => (x: reals.Real) => {
  if (reals.isExact(x)) {
    const down = x.n >= 0n ? x.n / x.d : -((-x.n + x.d - 1n) / x.d);
    return fraction(up && x.d !== 1n ? down + 1n : down);
  }
  const floor = balls.floor(up ? balls.negate(x) : x);
  if (floor === null) throw new Undecided();
  return fraction(up ? -floor : floor);
};

const extreme = (sign: 1 | -1): Operate => (args, { bits }) =>
  args.reduce((best, next) => {
    const difference = reals.signOf(subtract(real(realPart(next)), real(realPart(best)), bits).re);
    if (difference === null) throw new Undecided();
    return difference === sign ? next : best;
  });

const ln = (x: reals.Real, bits: number): reals.Real =>
  isNumber(x, 1n) ? ZERO : balls.ln(reals.toBall(x, bits + 16), bits);

const OPERATIONS: Readonly<Record<Operation, Operate>> = {
  "+": ([a, b], { bits }) => add(a!, b!, bits),
  "*": ([a, b], { bits }) => multiply(a!, b!, bits),
  "/": ([a, b], { bits }) => divide(a!, b!, bits),
  "negate": ([a]) => negate(a!),
  "^": ([a, b], place) => power(a!, b!, place),
  "root": ([a, degree], place) => rootBy(a!, realPart(degree!), place),
  "abs": ([a], { bits }) => real(size(a!, bits)),
  "floor": ofReal(rounded(false)),
  "ceil": ofReal(rounded(true)),
  "min": extreme(-1),
  "max": extreme(1),
  "!": ofReal(factorial),
  "binomial": ([n, k]) => real(binomial(realPart(n!), realPart(k!))),
  "log": ([x, base], { bits }) => {
    const [above, below] = [x!, base!].map((arg) => ln(realPart(arg), bits + 16));
    return divide(real(above!), real(below!), bits);
  },
  "ln": ofReal(ln),
  "exp": ([x], place) => exponential(x!, place.bits),
  "sin": ofReal((x, bits) => isNumber(x, 0n) ? x : sinCos(x, bits)[0]),
  "cos": ofReal((x, bits) => isNumber(x, 0n) ? ONE : sinCos(x, bits)[1]),
  "tan": ofReal((x, bits) => isNumber(x, 0n) ? x : tangent(x, bits)),
  "cot": quotient(1, 0),
  "sec": quotient(null, 1),
  "csc": quotient(null, 0),
  "arcsin": ofReal(arcsin),
  "arccos": ofReal(arccos),
  "arctan": ofReal((x, bits) =>
    isNumber(x, 0n) ? x : balls.arctan(reals.toBall(x, bits + 16), bits)
  ),
  "sinh": ofReal(hyperbolic(-1)),
  "cosh": ofReal(hyperbolic(1)),
  "tanh": ofReal((x, bits) =>
    balls.divide(hyperbolic(-1)(x, bits + 8), hyperbolic(1)(x, bits + 8), bits)
  ),
};

/** e^x, also of complex numbers. */
function exponential(x: Complex, bits: number): Complex {
  const size = isNumber(x.re, 0n) ? ONE : balls.exp(reals.toBall(x.re, bits + 16), bits);
  if (isReal(x)) return real(size);
  const [sin, cos] = sinCos(x.im, bits);
  return multiply(real(size), { re: cos, im: sin }, bits);
}

function power(a: Complex, b: Complex, place: Place): Complex {
  const { bits } = place;
  if (isReal(b) && reals.isExact(b.re)) {
    const { n, d } = b.re;
    if (d === 1n) {
      return isReal(a) ? real(reals.wholePower(a.re, n, bits)) : powerByWhole(a, n, bits);
    }
    if (d <= 64n && (magnitude(n) <= 4096n)) {
      const root = rootBy(a, fraction(d), place);
      return power(root, real(fraction(n)), place);
    }
  }
  if (!isReal(a)) throw new RangeError("a power of complex numbers");
  const sign = reals.signOf(a.re);
  if (sign === 0 && isReal(b) && reals.signOf(b.re) === 1) return real(ZERO);
  if (sign !== 1) throw new RangeError("a power of a negative number");
  if (isReal(b)) return real(reals.realPower(a.re, b.re, bits));
  const wanted = bits + 16;
  return exponential(multiply(b, real(ln(a.re, wanted)), wanted), bits);
}

/** Real for real numbers and odd degrees; else the principal root. */
function rootBy(a: Complex, degree: reals.Real, place: Place): Complex {
  const { bits } = place;
  if (!reals.isExact(degree) || degree.d !== 1n) {
    return power(a, divide(real(ONE), real(degree), bits), place);
  }
  if (degree.n < 0n) return divide(real(ONE), rootBy(a, fraction(-degree.n), place), bits);
  const sign = isReal(a) ? reals.signOf(a.re) : -1;
  if (sign !== -1) return real(reals.rootOf(a.re, degree.n, bits));
  if (isReal(a) && degree.n % 2n === 1n) {
    return negate(real(reals.rootOf(negate(a).re, degree.n, bits)));
  }
  place.leftReals = true;
  if (degree.n % 2n === 1n || degree.n === 0n) throw new RangeError("a root of a complex number");
  const root = squareRoot(a, bits);
  return degree.n === 2n ? root : rootBy(root, fraction(degree.n / 2n), place);
}

function squareRoot(a: Complex, bits: number): Complex {
  if (isReal(a)) {
    return reals.signOf(a.re) === -1
      ? { re: ZERO, im: reals.rootOf(reals.negate(a.re), 2n, bits) }
      : real(reals.rootOf(a.re, 2n, bits));
  }
  const sign = reals.signOf(a.im), length = size(a, bits);
  // On the negative half of the real line the root jumps from one sign to the other.
  if (sign === null && reals.signOf(a.re) !== 1) throw new RangeError("near the cut of the root");
  const half = (x: reals.Real) => reals.rootOf(reals.divide(x, fraction(2n), bits), 2n, bits);
  const im = half(reals.add(length, reals.negate(a.re), bits));
  return { re: half(reals.add(length, a.re, bits)), im: sign === -1 ? reals.negate(im) : im };
}

/** a^n for a whole n, by squaring. @throws RangeError for a large n */
function powerByWhole(a: Complex, n: bigint, bits: number): Complex {
  const count = n < 0n ? -n : n;
  if (count > 4096n) throw new RangeError("an exponent of this size is not computed");
  let value = real(ONE), factor = a;
  for (let left = count; left > 0n; left >>= 1n) {
    if (left & 1n) value = multiply(value, factor, bits);
    if (left > 1n) factor = multiply(factor, factor, bits);
  }
  return n < 0n ? divide(real(ONE), value, bits) : value;
}

const MAX_COUNT = 1000n;

function countOf(a: reals.Real): bigint {
  if (!reals.isExact(a) || a.d !== 1n || a.n < 0n) {
    throw new RangeError("expected a whole number ≥ 0");
  }
  if (a.n > MAX_COUNT) throw new Undecided();
  return a.n;
}

function factorial(a: reals.Real): Fraction {
  const count = countOf(a);
  let product = 1n;
  for (let i = 2n; i <= count; i++) product *= i;
  return { n: product, d: 1n };
}

function binomial(a: reals.Real, b: reals.Real): Fraction {
  const all = countOf(a), chosen = countOf(b);
  if (chosen > all) return ZERO;
  let value = 1n;
  for (let i = 1n; i <= chosen; i++) value = value * (all - chosen + i) / i;
  return { n: value, d: 1n };
}

/**
 * A function of which only the name is known. A fixed rational function takes its place, so that
 * two formulas are equal only if they are equal for every function.
 */
function unknownFunction(
  name: string,
  args: readonly Complex[],
  { bits, variant }: Place,
): Complex {
  const coefficient = (key: string) =>
    real(fraction(BigInt(fnv1a(`${variant >> 1} ${name} ${key}`)) - (1n << 31n), 9973n));
  let value = coefficient(`of ${args.length}`);
  args.forEach((arg, i) => {
    const [a, b, c] = ["a", "b", "c"].map((key) => coefficient(`${i} ${key}`));
    const below = add(multiply(arg, add(multiply(arg, b!, bits), value, bits), bits), c!, bits);
    value = add(multiply(value, a!, bits), divide(real(ONE), below, bits), bits);
  });
  // Its values have both signs.
  return variant % 2 === 0 ? value : negate(value);
}
