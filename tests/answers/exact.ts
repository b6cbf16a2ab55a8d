/**
 * Exact arithmetic that judges the fuzzer's answers. It shares nothing with the comparison that is
 * tested. A value is a sum of terms c·√n·π^k·x^a·y^b… with a fraction c and a square-free n. Such a
 * sum is zero only where every c is 0: the roots are independent over the fractions, π is
 * transcendental, and unknowns are free. So two values are equal where their terms are.
 */

export interface Term {
  above: bigint;
  /** Positive; no common factor with `above`. */
  below: bigint;
  /** Square-free, at least 1. */
  root: bigint;
  pi: number;
  /** Exponents by name; "i" is the imaginary unit, with exponent 0 or 1. */
  names: Readonly<Record<string, number>>;
}

/** The terms, none twice and none zero. */
export type Value = readonly Term[];

const gcd = (a: bigint, b: bigint): bigint => b === 0n ? (a < 0n ? -a : a) : gcd(b, a % b);

/** @throws RangeError when `below` is 0 */
export function rational(above: bigint, below = 1n): Value {
  return term({ above, below, root: 1n, pi: 0, names: {} });
}

export function term({ above, below, root, pi, names }: Term): Value {
  if (below === 0n) throw new RangeError("division by zero");
  if (above === 0n) return [];
  for (let k = 2n; k * k <= root; k++) {
    while (root % (k * k) === 0n) [root, above] = [root / (k * k), above * k];
  }
  const common = gcd(above, below) * (below < 0n ? -1n : 1n);
  const kept: Record<string, number> = {};
  for (const name of Object.keys(names).sort()) {
    let exponent = names[name]!;
    if (name === "i") {
      if ((exponent & 3) > 1) above = -above;
      exponent &= 1;
    }
    if (exponent !== 0) kept[name] = exponent;
  }
  return [{ above: above / common, below: below / common, root, pi, names: kept }];
}

const keyOf = ({ root, pi, names }: Term) => `${root} ${pi} ${JSON.stringify(names)}`;

export function add(a: Value, b: Value): Value {
  const sums = new Map<string, Term>();
  for (const next of [...a, ...b]) {
    const key = keyOf(next), old = sums.get(key);
    if (old === undefined) sums.set(key, next);
    else {
      const above = old.above * next.below + next.above * old.below;
      const [sum] = term({ ...old, above, below: old.below * next.below });
      if (sum === undefined) sums.delete(key);
      else sums.set(key, sum);
    }
  }
  return [...sums.values()];
}

export function multiply(a: Value, b: Value): Value {
  let product: Value = [];
  for (const x of a) {
    for (const y of b) {
      const names: Record<string, number> = { ...x.names };
      for (const [name, exponent] of Object.entries(y.names)) {
        names[name] = (names[name] ?? 0) + exponent;
      }
      const [above, below] = [x.above * y.above, x.below * y.below];
      product = add(product, term({ above, below, root: x.root * y.root, pi: x.pi + y.pi, names }));
    }
  }
  return product;
}

export const negate = (a: Value): Value => multiply(rational(-1n), a);
export const subtract = (a: Value, b: Value): Value => add(a, negate(b));

/** 1/a of a value with a single term. @throws RangeError for others */
export function inverse(a: Value): Value {
  const [only] = a;
  if (only === undefined || a.length > 1) throw new RangeError("no single term");
  const names = Object.fromEntries(Object.entries(only.names).map(([name, n]) => [name, -n]));
  return term({
    above: only.below,
    below: only.above * only.root,
    root: only.root,
    pi: -only.pi,
    names,
  });
}

/** √(above/below) = √(above·below)/below, of positive numbers. */
export function rootOf(above: bigint, below = 1n): Value {
  return term({ above: 1n, below, root: above * below, pi: 0, names: {} });
}

export function equal(a: Value, b: Value): boolean {
  return subtract(a, b).length === 0;
}

/** The fraction, where the value is one; else null. */
export function fractionOf(a: Value): { above: bigint; below: bigint } | null {
  if (a.length === 0) return { above: 0n, below: 1n };
  const [only] = a;
  const plain = a.length === 1 && only!.root === 1n && only!.pi === 0 &&
    Object.keys(only!.names).length === 0;
  return plain ? { above: only!.above, below: only!.below } : null;
}

/** A float near the value of a value without names, to order bounds. */
export function approximate(a: Value): number {
  return a.reduce((sum, { above, below, root, pi, names }) => {
    if (Object.keys(names).length > 0) throw new RangeError("an unknown has no size");
    return sum + Number(above) / Number(below) * Math.sqrt(Number(root)) * Math.PI ** pi;
  }, 0);
}
