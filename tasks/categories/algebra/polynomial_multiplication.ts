/** Products of polynomials in expanded form; exact at any size. */
import type { RandomStream } from "../../../core/philox.ts";
import { bool, choices, type ConfigOf, counts, defineTask, sizes } from "../../define.ts";
import { type Domain, parseFormula, run, type Step } from "../../python/formulas.ts";
import { NOTATION, powerText, sumText } from "./formula_text.ts";

/** Maximum number of attempts to draw a factor whose terms do not cancel out. */
const DRAWS = 20;

const params = {
  terms: counts([2, 4], "terms of a polynomial", { min: 1, each: [[2, 4, 6, 8], [4, 8, 12, 16]] }),
  value: sizes([1, 100], "coefficient", {
    min: 1,
    each: [[1, 10, 100, 1000], [100, 10_000, 1_000_000, 100_000_000]],
  }),
  degree: sizes([0, 3], "degree of a term", {
    min: 0,
    max: 1000,
    each: [[0, 1, 2, 3], [2, 4, 8, 10]],
  }),
  polynomials: counts([2, 3], "polynomials", {
    min: 2,
    max: 100,
    each: [[2, 3, 4, 5], [4, 6, 8, 10]],
  }),
  variables: choices(["x", "y", "z"], "variables to draw from"),
  allow_cross_variable_product: bool(false, "each polynomial may have a variable of its own"),
  allow_multivariate_polynomials: bool(false, "a polynomial may have all variables"),
  operators: choices(["+", "-"], "signs of terms", ["+", "-"]),
};

type Config = ConfigOf<typeof params>;

export default defineTask({
  description: "Multiply polynomials.",
  scoring:
    "1 when the answer is the product written out as a sum, in any order and also with several " +
    "terms of a kind, else 0.",
  params,
  rules: {
    "allow_multivariate_polynomials: needs allow_cross_variable_product = true": (c) =>
      c.allow_cross_variable_product || !c.allow_multivariate_polynomials,
    "variables: each must be a name such as x": ({ variables }) =>
      variables.every((name) => /^[A-Za-z_]\w*$/.test(name)),
  },
  generate(random, config) {
    const names = [...new Set(config.variables)].sort();
    const shared = random.below(names.length);
    const factors: Polynomial[] = [];
    const count = random.int(config.min_polynomials, config.max_polynomials);
    for (let i = 0; i < count; i++) {
      const variableIndex = config.allow_cross_variable_product
        ? random.below(names.length)
        : shared;
      const monomial = config.allow_multivariate_polynomials
        ? () => anyMonomial(random, names.length, config.min_degree, config.max_degree)
        : () => {
          const degree = random.int(config.min_degree, config.max_degree);
          return names.map((_, variable) => variable === variableIndex ? degree : 0);
        };
      factors.push(drawFactor(random, config, monomial));
    }
    const result = factors.reduce(product);
    const polynomial_expr = factors.map((factor) => `(${polynomialText(factor, names)})`).join("*");
    return {
      question: `Multiply and write the result out as one sum, without brackets:\n` +
        `${polynomial_expr}\n${NOTATION} Answer with the sum only.`,
      answer: polynomialText(result, names),
      metadata: { polynomial_expr, variables: variablesOf(result, names) },
    };
  },
  score: (answer, entry) => isExpanded(answer, entry.answer ?? "") ? 1 : 0,
});

function drawFactor(
  random: RandomStream,
  { min_terms, max_terms, min_value, max_value, operators }: Config,
  monomial: () => number[],
): Polynomial {
  const terms = random.int(min_terms, max_terms);
  for (let draw = 1;; draw++) {
    const factor: Polynomial = new Map();
    for (let i = 0; i < terms; i++) {
      const size = random.int(min_value, max_value);
      const negative = operators.includes("-") && random.chance(0.5);
      addTerm(factor, monomial(), BigInt(negative ? -size : size));
    }
    const isZero = [...factor.values()].every(({ coefficient }) => coefficient === 0n);
    if (!isZero || draw === DRAWS) return factor;
  }
}

/** Draws uniformly among all monomials of total degree min to max (stars and bars). */
function anyMonomial(random: RandomStream, variables: number, min: number, max: number): number[] {
  const degrees: number[] = [], weights: number[] = [];
  let ways = 1;
  for (let degree = 0; degree <= max; degree++) {
    if (degree > 0) ways *= (degree + variables - 1) / degree;
    if (degree < min) continue;
    degrees.push(degree);
    weights.push(ways);
  }
  const degree = random.weighted(degrees, weights);
  const places = Array.from({ length: degree + variables - 1 }, (_, i) => i);
  const bars = random.sample(places, variables - 1).sort((a, b) => a - b);
  return [...bars, places.length].map((bar, i) => i === 0 ? bar : bar - bars[i - 1]! - 1);
}

/**
 * Checks whether a text is a given polynomial in expanded form. Products of sums and powers of sums
 * are not expanded. A number times a sum is allowed, and so are any order of the terms and several
 * terms of the same kind. Exact, with rational coefficients.
 */

interface Quotient {
  terms: Polynomial;
  denominator: bigint;
}

/** Powers of numbers with more bits than this are refused. */
const MAX_BITS = 20_000;
/** In characters. Longer answers are read only when the right answer is long too. */
const MAX_LENGTH = 4000;

export function isExpanded(answer: string, oracle: string): boolean {
  if (answer.length > Math.max(MAX_LENGTH, 4 * oracle.length)) return false;
  const given = parseFormula(answer), wanted = parseFormula(oracle);
  if (given === null || wanted === null) return false;
  const domain = new WrittenOut(namesOf(given, wanted));
  const a = run(given, domain), b = run(wanted, domain);
  return a !== null && b !== null && equal(a, b);
}

function namesOf(...programs: Step[][]): string[] {
  const names = programs.flat().map((step) => step.kind === "name" ? step.name : "");
  return [...new Set(names)].filter((name) => name !== "");
}

function equal(a: Quotient, b: Quotient): boolean {
  const difference = sum(a, b, -1n);
  return [...difference.terms.values()].every(({ coefficient }) => coefficient === 0n);
}

/** a + sign · b. Reuses the map of a, because each value on the stack is used once. */
function sum(a: Quotient, b: Quotient, sign: bigint): Quotient {
  if (a.denominator !== b.denominator) {
    const { denominator } = b;
    b = scale(b, a.denominator, a.denominator);
    a = scale(a, denominator, denominator);
  }
  for (const { exponents, coefficient } of b.terms.values()) {
    addTerm(a.terms, exponents, sign * coefficient);
  }
  return a;
}

function scale({ terms, denominator }: Quotient, factor: bigint, below: bigint): Quotient {
  const result: Polynomial = new Map();
  for (const { exponents, coefficient } of terms.values()) {
    addTerm(result, exponents, coefficient * factor);
  }
  return { terms: result, denominator: denominator * below };
}

function single(exponents: readonly number[], coefficient: bigint, denominator = 1n): Quotient {
  const terms: Polynomial = new Map();
  addTerm(terms, exponents, coefficient);
  return { terms, denominator };
}

function inverseOf(a: Quotient): Quotient | null {
  if (a.terms.size !== 1) return null;
  const { exponents, coefficient } = onlyTerm(a), sign = coefficient < 0n ? -1n : 1n;
  return single(exponents.map((n) => -n), sign * a.denominator, sign * coefficient);
}

function onlyTerm({ terms }: Quotient): Term {
  return terms.values().next().value!;
}

function dropZeros(value: Quotient): Quotient {
  for (const [key, { coefficient }] of value.terms) {
    if (coefficient === 0n) value.terms.delete(key);
  }
  return value;
}

class WrittenOut implements Domain<Quotient> {
  readonly #one: readonly number[];
  constructor(private readonly names: readonly string[]) {
    this.#one = names.map(() => 0);
  }

  #constant(value: bigint): Quotient {
    return single(this.#one, value);
  }

  number(text: string): Quotient | null {
    return /^[0-9]+$/.test(text) ? this.#constant(BigInt(text)) : null;
  }

  name(name: string): Quotient {
    return single(this.names.map((other) => other === name ? 1 : 0), 1n);
  }

  call(): null {
    return null;
  }

  negate(a: Quotient): Quotient {
    return scale(a, -1n, 1n);
  }

  operator(kind: "+" | "-" | "*" | "/" | "**", a: Quotient, b: Quotient): Quotient | null {
    if (kind === "+" || kind === "-") return sum(a, b, kind === "+" ? 1n : -1n);
    dropZeros(a);
    dropZeros(b);
    if (kind === "*") return this.#times(a, b);
    return kind === "/" ? this.#divided(a, b) : this.#raised(a, b);
  }

  #times(a: Quotient, b: Quotient): Quotient | null {
    if (a.terms.size > b.terms.size) [a, b] = [b, a];
    if (a.terms.size === 0) return this.#constant(0n);
    const factor = onlyTerm(a);
    const isNumber = factor.exponents.every((n) => n === 0);
    if (b.terms.size > 1 && (a.terms.size > 1 || !isNumber)) return null;
    const terms: Polynomial = new Map();
    for (const { exponents, coefficient } of b.terms.values()) {
      addTerm(
        terms,
        exponents.map((n, i) => n + factor.exponents[i]!),
        coefficient * factor.coefficient,
      );
    }
    return { terms, denominator: a.denominator * b.denominator };
  }

  #divided(a: Quotient, b: Quotient): Quotient | null {
    const inverse = inverseOf(b);
    return inverse && this.#times(a, inverse);
  }

  #raised(a: Quotient, b: Quotient): Quotient | null {
    const exponent = wholeNumber(b);
    if (exponent === null) return null;
    if (exponent === 0) return this.#constant(1n);
    if (exponent > 0) return power(a, exponent);
    const inverse = inverseOf(a);
    return inverse && power(inverse, -exponent);
  }
}

function wholeNumber({ terms, denominator }: Quotient): number | null {
  if (terms.size === 0) return 0;
  const { exponents, coefficient } = onlyTerm({ terms, denominator });
  if (terms.size > 1 || exponents.some((n) => n !== 0)) return null;
  if (coefficient % denominator !== 0n) return null;
  const value = coefficient / denominator;
  return value > -(2n ** 31n) && value < 2n ** 31n ? Number(value) : null;
}

function power(a: Quotient, exponent: number): Quotient | null {
  if (exponent === 1 || a.terms.size === 0) return a;
  if (a.terms.size > 1) return null;
  const { exponents, coefficient } = onlyTerm(a);
  const raised = bounded(coefficient, exponent), denominator = bounded(a.denominator, exponent);
  if (raised === null || denominator === null) return null;
  return single(exponents.map((n) => n * exponent), raised, denominator);
}

function bounded(base: bigint, exponent: number): bigint | null {
  if (base === 1n) return base;
  if (base === -1n) return exponent % 2 === 0 ? 1n : -1n;
  return base.toString(2).length * exponent > MAX_BITS ? null : base ** BigInt(exponent);
}

interface Term {
  /** One exponent for each variable. */
  exponents: readonly number[];
  coefficient: bigint;
}

/** Terms, keyed by their exponents as text. Coefficients may be 0. */
type Polynomial = Map<string, Term>;

/** Adds coefficient · monomial to a polynomial, in place. */
function addTerm(polynomial: Polynomial, exponents: readonly number[], coefficient: bigint): void {
  const key = exponents.join();
  const term = polynomial.get(key);
  if (term === undefined) polynomial.set(key, { exponents, coefficient });
  else polynomial.set(key, { exponents, coefficient: term.coefficient + coefficient });
}

function product(a: Polynomial, b: Polynomial): Polynomial {
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
function polynomialText(polynomial: Polynomial, names: readonly string[]): string {
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
function variablesOf(polynomial: Polynomial, names: readonly string[]): string[] {
  const terms = [...polynomial.values()].filter(({ coefficient }) => coefficient !== 0n);
  return names.filter((_, i) => terms.some(({ exponents }) => exponents[i] !== 0));
}
