/**
 * Formulas in Python's notation, as models write them: `3*x**2/4 - sin(2*x) + C`. A text becomes a
 * program for a stack machine. `run` executes it over numbers, derivatives or polynomials; no text
 * is ever executed. Not supported on purpose: `^`, products without `*`, comparisons and
 * factorials.
 */

export type Step =
  | { kind: "number"; text: string }
  | { kind: "name"; name: string }
  | { kind: "call"; name: string; count: number }
  | { kind: "+" | "-" | "*" | "/" | "**" | "negate" };

/**
 * The values over which a program runs. An operation that returns null has no result and ends the
 * run.
 */
export interface Domain<T> {
  number(text: string): T | null;
  name(name: string): T | null;
  call(name: string, parts: readonly T[]): T | null;
  operator(kind: "+" | "-" | "*" | "/" | "**", a: T, b: T): T | null;
  negate(a: T): T | null;
}

/** Python keywords that are an operand or begin one. `not x`, for example, is not a name. */
const KEYWORDS = new Set(["not", "None", "True", "False", "lambda", "await", "yield"]);

/** Maximum nesting depth of brackets and powers, unless the caller allows more. */
const DEPTH = 150;

/** Digits, optionally grouped by underscores as in Python. */
const DIGITS = "[0-9]+(?:_[0-9]+)*";
const EXPONENT = `(?:[eE][+-]?${DIGITS})?`;
const NUMBER = `${DIGITS}\\.?(?:${DIGITS})?${EXPONENT}|\\.${DIGITS}${EXPONENT}`;
const TOKEN = new RegExp(
  `[ \\t\\f]*(?:(${NUMBER})|([A-Za-z_]\\w*)|(\\*\\*|[-+*/(),]))`,
  "y",
);
/** Python refuses integers with leading zeros. */
const NO_NUMBER = /^0[0-9_]*[1-9][0-9_]*$/;

/** Parses a formula into a program; null when the text is no formula. Takes linear time. */
export function parseFormula(text: string, depth = DEPTH): Step[] | null {
  const tokens = tokenize(text);
  if (tokens === null) return null;
  const parser = new Parser(tokens, depth);
  return parser.sum(0) && parser.atEnd() ? parser.steps : null;
}

/** Returns the value of a program; null when an operation has no result. */
export function run<T>(program: readonly Step[], domain: Domain<T>): T | null {
  const stack: T[] = [];
  for (const step of program) {
    let value: T | null;
    switch (step.kind) {
      case "number":
        value = domain.number(step.text);
        break;
      case "name":
        value = domain.name(step.name);
        break;
      case "negate":
        value = domain.negate(stack.pop()!);
        break;
      case "call":
        value = domain.call(step.name, stack.splice(stack.length - step.count));
        break;
      default: {
        const b = stack.pop()!;
        value = domain.operator(step.kind, stack.pop()!, b);
      }
    }
    if (value === null) return null;
    stack.push(value);
  }
  return stack[0] ?? null;
}

/** An exact number; it need not be in lowest terms. */
export interface Fraction {
  numerator: bigint;
  /** Above 0. */
  denominator: bigint;
}

/** The result of an operator on fractions; null for a division by zero and for powers. */
export function calculated(
  kind: "+" | "-" | "*" | "/" | "**",
  { numerator: a, denominator: b }: Fraction,
  { numerator: c, denominator: d }: Fraction,
): Fraction | null {
  switch (kind) {
    case "+":
      return { numerator: a * d + c * b, denominator: b * d };
    case "-":
      return { numerator: a * d - c * b, denominator: b * d };
    case "*":
      return { numerator: a * c, denominator: b * d };
    case "/":
      if (c === 0n) return null;
      return c < 0n
        ? { numerator: -a * d, denominator: -b * c }
        : { numerator: a * d, denominator: b * c };
    case "**":
      return null;
  }
}

interface Token {
  kind: "number" | "name" | "sign";
  text: string;
}

function tokenize(text: string): Token[] | null {
  const tokens: Token[] = [];
  const source = text.trim();
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < source.length) {
    const match = TOKEN.exec(source);
    if (match === null) return null;
    const [, number, name, sign] = match;
    if (number !== undefined) {
      if (NO_NUMBER.test(number)) return null;
      tokens.push({ kind: "number", text: number.replaceAll("_", "") });
    } else if (name !== undefined) tokens.push({ kind: "name", text: name });
    else tokens.push({ kind: "sign", text: sign! });
  }
  return tokens;
}

/**
 * Recursive descent. Every method appends its steps, and returns false when the text is no formula.
 */
class Parser {
  readonly steps: Step[] = [];
  #at = 0;
  constructor(private readonly tokens: readonly Token[], private readonly depth: number) {}

  atEnd(): boolean {
    return this.#at === this.tokens.length;
  }

  #take(sign: string): boolean {
    const token = this.tokens[this.#at];
    if (token?.kind !== "sign" || token.text !== sign) return false;
    this.#at++;
    return true;
  }

  #oneOf<T extends string>(...signs: T[]): T | undefined {
    return signs.find((sign) => this.#take(sign));
  }

  sum(depth: number): boolean {
    if (depth > this.depth || !this.#product(depth)) return false;
    for (let sign; (sign = this.#oneOf("+", "-")) !== undefined;) {
      if (!this.#product(depth)) return false;
      this.steps.push({ kind: sign });
    }
    return true;
  }

  #product(depth: number): boolean {
    if (!this.#signed(depth)) return false;
    for (let sign; (sign = this.#oneOf("*", "/")) !== undefined;) {
      if (!this.#signed(depth)) return false;
      this.steps.push({ kind: sign });
    }
    return true;
  }

  /** Signs bind more weakly than powers: -x**2 is -(x**2). */
  #signed(depth: number): boolean {
    let negative = false;
    for (let sign; (sign = this.#oneOf("+", "-")) !== undefined;) {
      if (sign === "-") negative = !negative;
    }
    if (!this.#power(depth)) return false;
    if (negative) this.steps.push({ kind: "negate" });
    return true;
  }

  #power(depth: number): boolean {
    if (depth > this.depth || !this.#atom(depth)) return false;
    if (!this.#take("**")) return true;
    if (!this.#signed(depth + 1)) return false;
    this.steps.push({ kind: "**" });
    return true;
  }

  #atom(depth: number): boolean {
    if (this.#take("(")) return this.sum(depth + 1) && this.#take(")");
    const token = this.tokens[this.#at];
    if (token === undefined || token.kind === "sign" || KEYWORDS.has(token.text)) return false;
    this.#at++;
    if (token.kind === "number") this.steps.push({ kind: "number", text: token.text });
    else if (this.#take("(")) return this.#call(token.text, depth + 1);
    else this.steps.push({ kind: "name", name: token.text });
    return true;
  }

  #call(name: string, depth: number): boolean {
    let count = 0;
    do {
      if (!this.sum(depth)) return false;
      count++;
    } while (this.#take(","));
    this.steps.push({ kind: "call", name, count });
    return this.#take(")");
  }
}
