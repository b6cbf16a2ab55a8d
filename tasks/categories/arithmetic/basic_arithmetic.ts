/**
 * Expressions of + − × ÷ over integers in which every division is exact. With parentheses they are
 * random binary trees; without, chains with the usual precedence. Values are exact at any size.
 */
import { bool, choices, counts, defineTask, type RandomStream, text } from "../../define.ts";
import { exactScore } from "../../scoring_rules.ts";

export default defineTask({
  description: "Evaluate an arithmetic expression.",
  ...exactScore("the number"),
  params: {
    terms: counts([2, 6], "numbers in an expression", {
      min: 1,
      levels: [2, 3, 4, 5, 6],
      as: "num_terms",
    }),
    digits: counts([1, 4], "digits of the largest number possible", {
      min: 1,
      max: 15,
      levels: [1, 2, 3, 4],
      as: "num_digits",
    }),
    operators: choices(["+", "-", "*", "/"], "operators to draw from", ["+", "-", "*", "/"]),
    allow_parentheses: bool(true, "nest sub-expressions"),
    allow_negation: bool(true, "also draw negative numbers and negate sub-expressions"),
    format_style: text("simple", "wording of the question", ["simple", "natural"]),
    whitespace: text("single", "spaces between the symbols", ["no_space", "single", "random"]),
  },
  generate(random, config) {
    const terms = random.int(config.min_terms, config.max_terms);
    const digits = random.int(config.min_digits, config.max_digits);
    const options = {
      limit: 10 ** digits - 1,
      operators: config.operators,
      negation: config.allow_negation,
    };
    const { tokens, value } = config.allow_parentheses
      ? node(random, terms, options)
      : chain(random, terms, { ...options, negation: false });
    const expression = join(random, tokens, config.whitespace);
    return {
      question: config.format_style === "simple" ? `Compute: ${expression}` : random.choice([
        `What number do you get when you work out ${expression}?`,
        `Please evaluate the expression ${expression} and give the result as a whole number.`,
        `Find the value of ${expression}.`,
      ]),
      answer: value.toString(),
      metadata: { expression, num_terms: terms, num_digits: digits },
    };
  },
});

/**
 * Joins tokens with spaces, without, or with a random choice of both. Brackets touch their content.
 */
function join(random: RandomStream, tokens: readonly string[], whitespace: string): string {
  const space = () => {
    if (whitespace === "single") return " ";
    return whitespace === "random" && random.chance(0.5) ? " " : "";
  };
  return tokens.map((token) => /^[-+*/]$/.test(token) ? space() + token + space() : token).join("");
}

/**
 * Random arithmetic expressions with exact divisions. A divisor is drawn from the divisors of the
 * dividend. If the divisor is an expression, its last number is chosen such that the value of the
 * expression divides the dividend. If that number would be too large, the divisor becomes a single
 * number.
 */

interface ExpressionOptions {
  /** Maximum absolute value of a number. */
  limit: number;
  operators: readonly string[];
  /** Whether numbers may be negative and sub-expressions may be negated. */
  negation: boolean;
}

interface Expression {
  /** Numbers (with their sign), operators, "(", ")" and "-(". */
  tokens: string[];
  value: bigint;
}

/** A node of the tree. The precedence of its top operator decides where it needs brackets. */
interface Node extends Expression {
  /** 1 for + and −, 2 for × and ÷, 3 for a number or anything in brackets. */
  binding: number;
}

/** Attempts to draw a divisor with several numbers before it becomes a single number. */
const CORRECTION_TRIES = 8;
const NEGATED = 0.15;
/** Probability that a (sub-)expression is a chain without brackets instead of a tree. */
const FLAT = 0.5;

/** A random binary tree over `terms` numbers, written with the brackets that it needs. */
function node(random: RandomStream, terms: number, options: ExpressionOptions): Node {
  if (terms === 1) return drawNumber(random, options);
  const made = random.chance(FLAT)
    ? { ...chain(random, terms, options), binding: 1 }
    : branch(random, terms, options);
  const negate = options.negation && made.binding < 3 && random.chance(NEGATED);
  return negate ? negated(made) : made;
}

function branch(random: RandomStream, terms: number, options: ExpressionOptions): Node {
  const operator = random.choice(options.operators);
  const leftTerms = random.int(1, terms - 1);
  if (operator === "/") return quotient(random, leftTerms, terms - leftTerms, options);
  const left = node(random, leftTerms, options);
  return combine(operator, left, node(random, terms - leftTerms, options));
}

function quotient(
  random: RandomStream,
  leftTerms: number,
  rightTerms: number,
  options: ExpressionOptions,
): Node {
  if (rightTerms > 1) {
    const left = node(random, leftTerms, options);
    const right = correctedDivisor(random, left.value, rightTerms, options);
    if (right !== null) return combine("/", left, right);
  }
  const left = node(random, leftTerms + rightTerms - 1, options);
  return combine("/", left, constant(randomDivisor(random, left.value, options)));
}

/** An expression of `terms` ≥ 2 numbers whose value divides `dividend`, or null. */
function correctedDivisor(
  random: RandomStream,
  dividend: bigint,
  terms: number,
  options: ExpressionOptions,
): Node | null {
  const signs = options.operators.filter((operator) => operator === "+" || operator === "-");
  if (signs.length === 0) return null;
  for (let attempt = 0; attempt < CORRECTION_TRIES; attempt++) {
    const base = node(random, terms - 1, options);
    const difference = randomDivisor(random, dividend, options) - base.value;
    const sign = random.choice(signs);
    const last = sign === "+" ? difference : -difference;
    const size = last < 0n ? -last : last;
    if (size > BigInt(options.limit) || (last < 0n && !options.negation)) continue;
    return combine(sign, base, constant(last));
  }
  return null;
}

function combine(operator: string, left: Node, right: Node): Node {
  const binding = operator === "+" || operator === "-" ? 1 : 2;
  const a = left.binding < binding ? bracketed(left) : left.tokens;
  // Even a + (b + c) keeps its brackets, so that the tree gives the order of evaluation.
  const b = right.binding <= binding ? bracketed(right) : right.tokens;
  return {
    tokens: [...a, operator, ...b],
    value: apply(operator, left.value, right.value),
    binding,
  };
}

function bracketed({ tokens }: Node): string[] {
  return ["(", ...tokens, ")"];
}

function negated({ tokens, value }: Node): Node {
  return { tokens: ["-(", ...tokens, ")"], value: -value, binding: 3 };
}

function drawNumber(random: RandomStream, { limit, negation }: ExpressionOptions): Node {
  return constant(BigInt(random.int(negation ? -limit : 0, limit)));
}

function constant(value: bigint): Node {
  return { tokens: [value.toString()], value, binding: 3 };
}

function apply(operator: string, a: bigint, b: bigint): bigint {
  if (operator === "+") return a + b;
  if (operator === "-") return a - b;
  return operator === "*" ? a * b : a / b;
}

/**
 * Numbers joined without brackets; × and ÷ are evaluated first, from left to right. The current
 * product is kept apart from the finished sum, because a division applies only to the product.
 */
function chain(random: RandomStream, terms: number, options: ExpressionOptions): Expression {
  const first = drawNumber(random, options);
  const tokens = [...first.tokens];
  let sum = 0n, product = first.value;
  for (let i = 1; i < terms; i++) {
    const operator = random.choice(options.operators);
    const value = operator === "/"
      ? randomDivisor(random, product, options)
      : drawNumber(random, options).value;
    tokens.push(operator, value.toString());
    if (operator === "*" || operator === "/") product = apply(operator, product, value);
    else {
      sum += product;
      product = operator === "+" ? value : -value;
    }
  }
  return { tokens, value: sum + product };
}

function drawDivisor(random: RandomStream, size: bigint, limit: number): number {
  const all = divisors(size, limit);
  const proper = all.filter((divisor) => divisor !== 1 && BigInt(divisor) !== size);
  const from = proper.length > 0 ? proper : all;
  return Math.min(random.choice(from), random.choice(from));
}

/** Larger primes of a number stay together in one factor. */
const LARGEST_PRIME = 73;
const MAX_DIVISORS = 256;

/**
 * A divisor of `value` with at most `limit` as its size, never 0; any number if `value` is 0.
 * Negative divisors only with negation. 1 and the value itself are used only when there is no other
 * divisor, because otherwise far too many answers would be 1.
 */
function randomDivisor(
  random: RandomStream,
  value: bigint,
  { limit, negation }: ExpressionOptions,
): bigint {
  const size = value < 0n ? -value : value;
  const divisor = size === 0n ? random.int(1, limit) : drawDivisor(random, size, limit);
  return BigInt(negation && random.chance(0.5) ? -divisor : divisor);
}

/** Divisors up to `limit`, composed of small primes and the remaining cofactor. */
function divisors(size: bigint, limit: number): number[] {
  const found = [1];
  let rest = size;
  const extend = (prime: number) => {
    for (const known of found.slice()) {
      const next = known * prime;
      if (next <= limit && found.length < MAX_DIVISORS && !found.includes(next)) found.push(next);
    }
  };
  // When a composite number comes, its smaller factors are already divided out.
  for (let prime = 2; prime <= LARGEST_PRIME; prime++) {
    const p = BigInt(prime);
    while (rest % p === 0n) {
      rest /= p;
      extend(prime);
    }
  }
  if (rest > 1n && rest <= BigInt(limit)) extend(Number(rest));
  return found;
}
