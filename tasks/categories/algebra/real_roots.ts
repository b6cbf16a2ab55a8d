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
