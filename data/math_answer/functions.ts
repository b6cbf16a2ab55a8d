/** Functions of real numbers that answers use. Only factorials and binomials are exact. */
import { divide, fraction, irrational, multiply, type Real } from "./rational.ts";

const FUNCTIONS: Readonly<Record<string, (x: number) => number>> = {
  sin: Math.sin,
  cos: Math.cos,
  tan: Math.tan,
  cot: (x) => 1 / Math.tan(x),
  sec: (x) => 1 / Math.cos(x),
  csc: (x) => 1 / Math.sin(x),
  arcsin: Math.asin,
  arccos: Math.acos,
  arctan: Math.atan,
  sinh: Math.sinh,
  cosh: Math.cosh,
  tanh: Math.tanh,
  ln: Math.log,
  log: Math.log10,
  exp: Math.exp,
};

/**
 * @param base base of a logarithm; null: the function's default
 * @throws RangeError where the function has no value
 */
export function applied(name: string, argument: Real, base: Real | null): Real {
  const value = base === null
    ? FUNCTIONS[name]!(argument.approx)
    : Math.log(argument.approx) / Math.log(base.approx);
  if (!Number.isFinite(value)) throw new RangeError(`${name} has no value there`);
  return irrational(value);
}

const MAX_COUNT = 500n;

/** @throws RangeError unless n is a whole number from 0 to MAX_COUNT */
export function factorial(n: Real): Real {
  const count = countOf(n);
  let product = 1n;
  for (let i = 2n; i <= count; i++) product *= i;
  return fraction(product);
}

/** n choose k. @throws RangeError as factorial */
export function binomial(n: Real, k: Real): Real {
  const all = countOf(n), chosen = countOf(k);
  let value = fraction(chosen > all ? 0n : 1n);
  for (let i = 1n; i <= chosen && chosen <= all; i++) {
    value = divide(multiply(value, fraction(all - chosen + i)), fraction(i));
  }
  return value;
}

function countOf({ exact }: Real): bigint {
  if (exact === null || exact.d !== 1n || exact.n < 0n || exact.n > MAX_COUNT) {
    throw new RangeError(`expected a whole number from 0 to ${MAX_COUNT}`);
  }
  return exact.n;
}
