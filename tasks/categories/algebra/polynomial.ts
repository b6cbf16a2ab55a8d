/** Polynomials in several variables with integer coefficients of any size, and their text. */
import { powerText, sumText } from "./formula_text.ts";

export interface Term {
  /** One exponent for each variable. */
  exponents: readonly number[];
  coefficient: bigint;
}

/** Terms, keyed by their exponents as text. Coefficients may be 0. */
export type Polynomial = Map<string, Term>;

/** Adds coefficient · monomial to a polynomial, in place. */
export function addTerm(
  polynomial: Polynomial,
  exponents: readonly number[],
  coefficient: bigint,
): void {
  const key = exponents.join();
  const term = polynomial.get(key);
  if (term === undefined) polynomial.set(key, { exponents, coefficient });
  else polynomial.set(key, { exponents, coefficient: term.coefficient + coefficient });
}

export function product(a: Polynomial, b: Polynomial): Polynomial {
  const result: Polynomial = new Map();
  for (const left of a.values()) {
    for (const right of b.values()) {
      addTerm(
        result,
        left.exponents.map((exponent, i) => exponent + right.exponents[i]!),
        left.coefficient * right.coefficient,
      );
    }
  }
  return result;
}

/** Writes the terms in lexical order of their exponents, highest first: `2*x**2*y - x + 1`. */
export function polynomialText(polynomial: Polynomial, names: readonly string[]): string {
  const terms = [...polynomial.values()].filter(({ coefficient }) => coefficient !== 0n);
  terms.sort((a, b) => {
    const i = a.exponents.findIndex((exponent, i) => exponent !== b.exponents[i]);
    return i < 0 ? 0 : b.exponents[i]! - a.exponents[i]!;
  });
  return sumText(terms.map(({ exponents, coefficient }) => ({
    numerator: coefficient,
    factor: exponents.map((n, i) => powerText(names[i]!, n)).filter((text) => text !== "")
      .join("*"),
  })));
}

/** The variables that occur in the polynomial. */
export function variablesOf(polynomial: Polynomial, names: readonly string[]): string[] {
  const terms = [...polynomial.values()].filter(({ coefficient }) => coefficient !== 0n);
  return names.filter((_, i) => terms.some(({ exponents }) => exponents[i] !== 0));
}
