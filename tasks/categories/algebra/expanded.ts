/**
 * Checks whether a text is a given polynomial in expanded form. Products of sums and powers of sums
 * are not expanded. A number times a sum is allowed, and so are any order of the terms and several
 * terms of the same kind. Exact, with rational coefficients.
 */
import { type Domain, parseFormula, run, type Step } from "./expression.ts";
import { addTerm, type Polynomial, type Term } from "./polynomial.ts";

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
    const terms: Polynomial = new Map();
    addTerm(terms, this.#one, value);
    return { terms, denominator: 1n };
  }

  number(text: string): Quotient | null {
    return /^[0-9]+$/.test(text) ? this.#constant(BigInt(text)) : null;
  }

  name(name: string): Quotient {
    const terms: Polynomial = new Map();
    addTerm(terms, this.names.map((other) => other === name ? 1 : 0), 1n);
    return { terms, denominator: 1n };
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
    const inverse = this.#inverse(b);
    return inverse && this.#times(a, inverse);
  }

  #inverse(a: Quotient): Quotient | null {
    if (a.terms.size !== 1) return null;
    const { exponents, coefficient } = onlyTerm(a);
    const terms: Polynomial = new Map();
    addTerm(terms, exponents.map((n) => -n), coefficient < 0n ? -a.denominator : a.denominator);
    return { terms, denominator: coefficient < 0n ? -coefficient : coefficient };
  }

  #raised(a: Quotient, b: Quotient): Quotient | null {
    const exponent = wholeNumber(b);
    if (exponent === null) return null;
    if (exponent === 0) return this.#constant(1n);
    if (exponent < 0) {
      const inverse = this.#inverse(a);
      return inverse && power(inverse, -exponent);
    }
    return power(a, exponent);
  }
}

/** A small exponent; null for anything else. */
function wholeNumber({ terms, denominator }: Quotient): number | null {
  if (terms.size === 0) return 0;
  const { exponents, coefficient } = terms.values().next().value!;
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
  const terms: Polynomial = new Map();
  addTerm(terms, exponents.map((n) => n * exponent), raised);
  return { terms, denominator };
}

function bounded(base: bigint, exponent: number): bigint | null {
  if (base === 1n) return base;
  if (base === -1n) return exponent % 2 === 0 ? 1n : -1n;
  return base.toString(2).length * exponent > MAX_BITS ? null : base ** BigInt(exponent);
}
