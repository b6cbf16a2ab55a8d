/**
 * Whether two constants are equal, and which one is larger. Fractions are compared exactly. So are
 * roots of fractions: their difference is 0 or larger than a bound that follows from the formula
 * (Burnikel, Funke, Mehlhorn, Schirra, Schmitt 2009). Others (π, e, logarithms, sines) are equal
 * when they agree to 100 digits, and to more where very small or large numbers occur in them.
 */
import * as balls from "../numbers/ball.ts";
import { type Complex, isReal, subtract } from "../numbers/complex.ts";
import { constantPlace, evaluate, Undecided } from "./evaluate.ts";
import { call, type Expr, infinite, minus, number, written } from "./expression.ts";
import { bitsOf, magnitude } from "../numbers/rational.ts";
import { isExact, signOf } from "../numbers/real.ts";

const AGREEING_BITS = 330;
/** Numbers that need more bits are equal only if all their parts are equal. */
const MAX_BITS = 8000;
/** Precisions that are tried one after the other. */
const PRECISIONS = [128, 384, 900, 1800];
/** Bounds beyond this are not waited for; the numbers then agree to 1,000 digits or more. */
const MAX_BOUND_BITS = 3300;

/** The value of a constant; null where it has none or takes too long. */
export function valueOf(expr: Expr, bits = 128): Complex | null {
  try {
    return evaluate(expr, constantPlace(bits));
  } catch (error) {
    if (error instanceof RangeError || error instanceof Undecided) return null;
    throw error;
  }
}

export function sameNumber(a: Expr, b: Expr): boolean {
  const infinities = [infinite(a), infinite(b)];
  if (infinities[0] !== 0 || infinities[1] !== 0) return infinities[0] === infinities[1];
  if (written(a) === written(b)) return valueOf(a) !== null;
  return differ(a, b) === false;
}

/** −1, 0 or 1 as the real constant a is less than, equal to or greater than b; null: unknown. */
export function compareNumbers(a: Expr, b: Expr): -1 | 0 | 1 | null {
  const [x, y] = [infinite(a), infinite(b)];
  if (x !== 0 || y !== 0) return Math.sign(x - y) as -1 | 0 | 1;
  if (differ(a, b) === false) return 0;
  for (const bits of PRECISIONS) {
    const difference = valueOf(minus(a, b), bits);
    if (difference === null || !isReal(difference)) return null;
    const sign = signOf(difference.re);
    if (sign !== null) return sign;
  }
  return null;
}

/** null: this cannot be decided. */
function differ(a: Expr, b: Expr): boolean | null {
  const [x, y] = [valueOf(a), valueOf(b)];
  if (x === null || y === null) return null;
  const first = parted(x, y, 128);
  if (first !== null) return first;
  const bound = separation(minus(a, b));
  let wanted = bound ?? AGREEING_BITS, deepest = 0;
  if (bound === null || bound > MAX_BOUND_BITS) {
    deepest = depthOf(minus(a, b));
    const least = bound === null ? AGREEING_BITS : MAX_BOUND_BITS;
    wanted = Math.max(least, AGREEING_BITS + 2 * deepest);
    if (wanted + deepest > MAX_BITS) return sameParts(a, b) ? false : null;
  }
  const needed = Math.max(384, wanted + deepest + 64);
  for (const bits of [...PRECISIONS.slice(1).filter((bits) => bits < needed), needed]) {
    const [x, y] = [valueOf(a, bits), valueOf(b, bits)];
    if (x === null || y === null) return null;
    const parts = parted(x, y, bits);
    if (parts !== null) return parts;
    if (agree(x, y, bits, wanted)) return false;
  }
  return null;
}

/** true: certainly different, false: certainly the same, null: not yet known. */
function parted(a: Complex, b: Complex, bits: number): boolean | null {
  const difference = subtract(a, b, bits);
  const signs = [signOf(difference.re), signOf(difference.im)];
  if (signs.some((sign) => sign === 1 || sign === -1)) return true;
  return signs.every((sign) => sign === 0) ? false : null;
}

/** Whether numbers whose balls meet agree in so many bits after the point. */
function agree(a: Complex, b: Complex, bits: number, wanted: number): boolean {
  const { re, im } = subtract(a, b, bits);
  return [re, im].every((part) => isExact(part) || balls.radiusBit(part) < -wanted);
}

/** The largest |log2| of the numbers in a constant: 10^(−150) in π + 10^(−150). */
export function depthOf(expr: Expr): number {
  const place = { ...constantPlace(128), depth: 0 };
  try {
    evaluate(expr, place);
    return place.depth;
  } catch (error) {
    if (error instanceof RangeError || error instanceof Undecided) return Infinity;
    throw error;
  }
}

/** Whether two calls are of one function, with equal arguments: e^10000 and e^(10^4). */
function sameParts(a: Expr, b: Expr): boolean {
  return a.kind === "call" && b.kind === "call" && a.name === b.name &&
    a.args.length === b.args.length && a.args.every((arg, i) => sameNumber(arg, b.args[i]!));
}

interface Bound {
  /** log2 of the two parts of the bound. */
  u: number;
  l: number;
}

/** The bits after the point that decide whether a formula of roots is 0; null for others. */
function separation(expr: Expr): number | null {
  const roots = new Map<string, bigint>();
  const bound = boundOf(expr, roots);
  if (bound === null) return null;
  let degree = 1;
  for (const each of roots.values()) degree *= Number(each);
  return Math.ceil(Math.max(0, bound.u) * (degree - 1) + Math.max(0, bound.l)) + 8;
}

function boundOf(expr: Expr, roots: Map<string, bigint>): Bound | null {
  if (expr.kind === "number") return { u: bitsOf(expr.value.n), l: bitsOf(expr.value.d) };
  if (expr.kind === "constant") {
    if (expr.name !== "i") return null;
    roots.set("i", 2n);
    return { u: 0, l: 0 };
  }
  if (expr.kind !== "call") return null;
  const [first, second] = expr.args;
  const a = boundOf(first!, roots);
  if (a === null) return null;
  if (expr.name === "negate") return a;
  if (expr.name === "root") return rootBound(expr, a, second!, roots);
  if (expr.name === "^") return powerBound(expr, a, second!, roots);
  const b = second === undefined ? null : boundOf(second, roots);
  if (b === null) return null;
  if (expr.name === "+") return { u: Math.max(a.u + b.l, a.l + b.u) + 1, l: a.l + b.l };
  if (expr.name === "*") return { u: a.u + b.u, l: a.l + b.l };
  return expr.name === "/" ? { u: a.u + b.l, l: a.l + b.u } : null;
}

function rootBound(expr: Expr, a: Bound, degree: Expr, roots: Map<string, bigint>): Bound | null {
  if (degree.kind !== "number" || degree.value.d !== 1n || degree.value.n < 1n) return null;
  const k = degree.value.n;
  roots.set(written(expr), k);
  return a.u >= a.l
    ? { u: (a.u + a.l * (Number(k) - 1)) / Number(k), l: a.l }
    : { u: a.u, l: (a.u * (Number(k) - 1) + a.l) / Number(k) };
}

function powerBound(expr: Expr, a: Bound, by: Expr, roots: Map<string, bigint>): Bound | null {
  const exponent = valueOf(by)?.re;
  if (exponent === undefined || !isExact(exponent)) return null;
  const size = Number(magnitude(exponent.n));
  if (exponent.d !== 1n) roots.set(written(expr), exponent.d);
  const up = { u: a.u * size, l: a.l * size };
  return exponent.n < 0n ? { u: up.l, l: up.u } : up;
}

/** A rounded decimal differs from a number by at most this part of it. */
const PART = 1_000_000n;
/** Digits that a decimal needs after the point. */
const AFTER = 4;
/** A float64 next to the number: its number of digits, and its largest relative error, 1.5·2⁻⁵³. */
const FLOAT_DIGITS = [15, 17] as const, FLOAT_PART = 6n * 10n ** 15n;

/**
 * Whether a decimal is an irrational number, rounded or cut off at the decimal's last digit. It
 * needs 4 digits after the point, and differs from the number by at most a millionth of it: 3.14159
 * is an answer for π, 3.1416 is none. The last digits of a float64 may be wrong: 98.99494936611666
 * is 70√2 as programs print it, though its digits end in 65.
 */
export function isRounded(decimal: Expr, exact: Expr): boolean {
  const negated = decimal.kind === "call" && decimal.name === "negate";
  const literal = negated ? decimal.args[0]! : decimal;
  if (literal.kind !== "number" || literal.digits === undefined) return false;
  const { after, significant } = literal.digits;
  if (after < AFTER || after > 200) return false;
  const value = valueOf(exact, 64 + 4 * (after + significant));
  if (value === null || !isReal(value) || isExact(value.re)) return false;
  if (signOf(value.re) !== signOf(valueOf(decimal)!.re)) return false;
  const size = negated ? call("negate", exact) : exact;
  const error = minus(size, literal), unit = number(1n, 10n ** BigInt(after));
  const between = (low: Expr, high: Expr) =>
    compareNumbers(error, low) === 1 && compareNumbers(error, high) === -1;
  const within = (part: bigint) => {
    const most = call("/", size, number(part));
    return between(call("negate", most), most);
  };
  const isFloat = significant >= FLOAT_DIGITS[0] && significant <= FLOAT_DIGITS[1];
  if (isFloat && within(FLOAT_PART)) return true;
  return between(call("/", unit, number(-2n)), unit) && within(PART);
}
