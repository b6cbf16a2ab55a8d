/** The question and the score that both tasks on indefinite integrals share. */
import type { ScorableEntry } from "../../types.ts";
import { type Domain, parseFormula, run } from "../../python/formulas.ts";
import { NOTATION } from "./formula_text.ts";

export const INTEGRAL_SCORING =
  "1 when the derivative of the answer is the integrand (in any form, with any constant), else 0.";

export function integralQuestion(integrand: string, variable: string): string {
  return `Find the indefinite integral ∫ (${integrand}) d${variable}.\n` +
    `Use the variable ${variable} as it is written here and add the constant as + C. ${NOTATION} ` +
    "Write functions as in exp(x), log(x) (the natural logarithm), sqrt(x), sin(x) and atan(x). " +
    "Answer with the formula only.";
}

/**
 * Scores an antiderivative. Some right answers of the original contain an integral that it could
 * not solve, `Integral(f, x)`. Such an integral is accepted only when the right answer contains
 * one.
 */
export function scoreIntegral(answer: string, entry: ScorableEntry): number {
  const integrand = entry.metadata?.["integrand"], variable = entry.metadata?.["variable"];
  if (typeof integrand !== "string" || typeof variable !== "string") return 0;
  const unsolved = entry.answer?.includes("Integral(") ?? false;
  return isAntiderivative(answer, integrand, variable, unsolved) ? 1 : 0;
}

/**
 * Checks whether one formula is an antiderivative of another. The derivative is computed at a point
 * by forward-mode automatic differentiation and compared with the integrand at many points. Every
 * number carries a bound of its rounding error (running error analysis; Higham, "Accuracy and
 * Stability of Numerical Algorithms", ch. 3), so that points where digits cancel decide nothing.
 * Real numbers only.
 */

/** A value and a bound of its absolute error. */
interface Real {
  v: number;
  e: number;
}

/** A value and its derivative at one point. */
interface Dual {
  x: Real;
  d: Real;
}

/** Half a unit in the last place, with some margin for the inexact functions of `Math`. */
const ROUND = 2 ** -51;
const ZERO: Real = { v: 0, e: 0 };
const ONE: Real = { v: 1, e: 0 };

function real(v: number, e: number): Real {
  return { v, e: e + ROUND * Math.abs(v) };
}

const add = (a: Real, b: Real) => a === ZERO ? b : b === ZERO ? a : real(a.v + b.v, a.e + b.e);
const negate = (a: Real): Real => a === ZERO ? a : { v: -a.v, e: a.e };
const subtract = (a: Real, b: Real) => add(a, negate(b));

function multiply(a: Real, b: Real): Real {
  if (a === ZERO || b === ZERO) return ZERO;
  return real(a.v * b.v, Math.abs(a.v) * b.e + Math.abs(b.v) * a.e + a.e * b.e);
}

function divide(a: Real, b: Real): Real {
  if (a === ZERO) return a;
  const v = a.v / b.v;
  // If the divisor may be zero, the error has no bound.
  const room = Math.abs(b.v) - b.e;
  return real(v, room > 0 ? (a.e + Math.abs(v) * b.e) / room : Infinity);
}

/** f(a), for a function with the given value and slope at a. */
function apply(value: number, slope: number, a: Real): Real {
  return real(value, Math.abs(slope) * a.e + 2 * ROUND * Math.abs(value));
}

function exponential(a: Real): Real {
  const v = Math.exp(a.v);
  return apply(v, v, a);
}

function logarithm(a: Real): Real {
  return apply(Math.log(a.v), 1 / a.v, a);
}

function power(a: Real, b: Real): Real {
  if (b.e === 0 && Number.isInteger(b.v) && Math.abs(b.v) <= 4096) return integerPower(a, b.v);
  if (!(a.v > 0)) return { v: NaN, e: 0 };
  return exponential(multiply(b, logarithm(a)));
}

function integerPower(a: Real, n: number): Real {
  if (n < 0) return divide(ONE, integerPower(a, -n));
  let result = ONE;
  for (let square = a; n > 0; n = Math.floor(n / 2)) {
    if (n % 2 === 1) result = multiply(result, square);
    if (n > 1) square = multiply(square, square);
  }
  return result;
}

type Rule = { value(u: Real): Real; slope(u: Real): Real };

const square = (u: Real) => multiply(u, u);
const sine = (u: Real) => apply(Math.sin(u.v), Math.cos(u.v), u);
const cosine = (u: Real) => apply(Math.cos(u.v), Math.sin(u.v), u);
const root = (u: Real) => apply(Math.sqrt(u.v), 0.5 / Math.sqrt(u.v), u);

/** A rule from a function of `Math` and its slope. */
function rule(f: (x: number) => number, slope: (u: Real) => Real): Rule {
  return { value: (u) => apply(f(u.v), slope(u).v, u), slope };
}

const RULES: Record<string, Rule> = {
  exp: { value: exponential, slope: exponential },
  log: rule(Math.log, (u) => divide(ONE, u)),
  ln: rule(Math.log, (u) => divide(ONE, u)),
  sqrt: { value: root, slope: (u) => divide({ v: 0.5, e: 0 }, root(u)) },
  cbrt: rule(Math.cbrt, (u) => divide(real(Math.cbrt(u.v), 0), multiply({ v: 3, e: 0 }, u))),
  Abs: rule(Math.abs, (u) => ({ v: Math.abs(u.v) > u.e ? Math.sign(u.v) : NaN, e: 0 })),
  sin: { value: sine, slope: cosine },
  cos: { value: cosine, slope: (u) => negate(sine(u)) },
  tan: rule(Math.tan, (u) => divide(ONE, square(cosine(u)))),
  cot: rule((x) => 1 / Math.tan(x), (u) => negate(divide(ONE, square(sine(u))))),
  sec: rule((x) => 1 / Math.cos(x), (u) => divide(sine(u), square(cosine(u)))),
  csc: rule((x) => 1 / Math.sin(x), (u) => negate(divide(cosine(u), square(sine(u))))),
  asin: rule(Math.asin, (u) => divide(ONE, root(subtract(ONE, square(u))))),
  acos: rule(Math.acos, (u) => negate(divide(ONE, root(subtract(ONE, square(u)))))),
  atan: rule(Math.atan, (u) => divide(ONE, add(ONE, square(u)))),
  acot: rule((x) => Math.atan(1 / x), (u) => negate(divide(ONE, add(ONE, square(u))))),
  sinh: rule(Math.sinh, (u) => apply(Math.cosh(u.v), Math.sinh(u.v), u)),
  cosh: rule(Math.cosh, (u) => apply(Math.sinh(u.v), Math.cosh(u.v), u)),
  tanh: rule(Math.tanh, (u) => apply(Math.cosh(u.v) ** -2, 1, u)),
  asinh: rule(Math.asinh, (u) => divide(ONE, root(add(square(u), ONE)))),
  acosh: rule(Math.acosh, (u) => divide(ONE, root(subtract(square(u), ONE)))),
  atanh: rule(Math.atanh, (u) => divide(ONE, subtract(ONE, square(u)))),
};
RULES["abs"] = RULES["Abs"]!;

const CONSTANTS: Record<string, number> = { E: Math.E, pi: Math.PI };

/**
 * Values for letters other than the variable, such as C. They are arbitrary, so no identity holds
 * by chance.
 */
const PARAMETERS = [1.3127, 0.7351, 1.8713, 0.5419, 1.1293, 1.6067];

class DualDomain implements Domain<Dual> {
  point = 0;
  readonly #parameters = new Map<string, Dual>();
  constructor(private readonly variable: string, private readonly allowIntegral: boolean) {}

  number(text: string): Dual {
    const v = Number(text);
    return { x: { v, e: Number.isSafeInteger(v) ? 0 : ROUND * v }, d: ZERO };
  }

  name(name: string): Dual {
    if (name === this.variable) return { x: { v: this.point, e: 0 }, d: ONE };
    const constant = CONSTANTS[name];
    if (constant !== undefined) return { x: real(constant, 0), d: ZERO };
    let parameter = this.#parameters.get(name);
    if (parameter === undefined) {
      const v = PARAMETERS[this.#parameters.size % PARAMETERS.length]!;
      parameter = { x: { v, e: 0 }, d: ZERO };
      this.#parameters.set(name, parameter);
    }
    return parameter;
  }

  negate({ x, d }: Dual): Dual {
    return { x: negate(x), d: negate(d) };
  }

  call(name: string, parts: readonly Dual[]): Dual | null {
    const [u, second] = parts as [Dual, Dual?];
    if (name === "Integral" && this.allowIntegral && parts.length === 2 && second!.d === ONE) {
      return { x: { v: NaN, e: 0 }, d: u.x };
    }
    if (name === "log" && parts.length === 2) {
      return this.operator("/", this.call("log", [u])!, this.call("log", [second!])!);
    }
    const rule = parts.length === 1 && Object.hasOwn(RULES, name) ? RULES[name]! : null;
    if (rule === null) return null;
    return { x: rule.value(u.x), d: u.d === ZERO ? ZERO : multiply(rule.slope(u.x), u.d) };
  }

  operator(kind: "+" | "-" | "*" | "/" | "**", a: Dual, b: Dual): Dual {
    switch (kind) {
      case "+":
        return { x: add(a.x, b.x), d: add(a.d, b.d) };
      case "-":
        return { x: subtract(a.x, b.x), d: subtract(a.d, b.d) };
      case "*":
        return { x: multiply(a.x, b.x), d: add(multiply(a.d, b.x), multiply(a.x, b.d)) };
      case "/": {
        const x = divide(a.x, b.x);
        return { x, d: divide(subtract(a.d, multiply(x, b.d)), b.x) };
      }
      case "**":
        return raise(a, b);
    }
  }
}

/** a^b. With a constant exponent the derivative is b·a^(b−1)·a', else a^b·(b'·ln a + b·a'/a). */
function raise(a: Dual, b: Dual): Dual {
  const x = power(a.x, b.x);
  if (b.d === ZERO) {
    const slope = a.d === ZERO ? ZERO : multiply(b.x, power(a.x, subtract(b.x, ONE)));
    return { x, d: multiply(slope, a.d) };
  }
  const inner = add(multiply(b.d, logarithm(a.x)), divide(multiply(b.x, a.d), a.x));
  return { x, d: multiply(x, inner) };
}

/** Maximum length of an answer, in characters. */
const MAX_LENGTH = 4000;
/** Number of points at which both sides must agree. */
const ENOUGH = 8;
const TOLERANCE = 1e-9;

/**
 * Whether d(answer)/d(variable) = integrand for all values of other letters. False for a text that
 * is no formula, and when fewer than 8 points of the common domain are decided. With
 * `allowIntegral` an unevaluated `Integral(f, x)` counts as an antiderivative of f.
 */
export function isAntiderivative(
  answer: string,
  integrand: string,
  variable: string,
  allowIntegral = false,
): boolean {
  if (answer.length > MAX_LENGTH || integrand.length > MAX_LENGTH) return false;
  const left = parseFormula(answer), right = parseFormula(integrand);
  if (left === null || right === null) return false;
  const given = new DualDomain(variable, allowIntegral), wanted = new DualDomain(variable, false);
  let decided = 0;
  for (let i = 0; i < POINTS.length && decided < ENOUGH; i++) {
    given.point = wanted.point = POINTS[i]!;
    const a = run(left, given)?.d, b = run(right, wanted)?.x;
    if (a === undefined || b === undefined) return false;
    const size = Math.max(Math.abs(a.v), Math.abs(b.v)), error = a.e + b.e;
    if (!(size < Infinity && error <= TOLERANCE * size)) continue;
    if (Math.abs(a.v - b.v) > TOLERANCE * size + error) return false;
    decided++;
  }
  return decided === ENOUGH;
}

/**
 * Points of both signs, near zero (for asin 3x) and far away (for logarithms and roots of large
 * sums).
 */
const POINTS = points();

function points(): number[] {
  const list: number[] = [];
  const golden = (Math.sqrt(5) - 1) / 2;
  const put = (scale: number) => {
    const share = 0.35 + 0.65 * (((list.length + 1) * golden) % 1);
    list.push(list.length % 2 === 0 ? scale * share : -scale * share);
  };
  for (let round = 0; round < 8; round++) {
    for (const scale of [0.3, 1, 4, 16]) for (let sign = 0; sign < 2; sign++) put(scale);
  }
  for (let scale = 64; scale < 1e12; scale *= 2) for (let sign = 0; sign < 2; sign++) put(scale);
  return list;
}
