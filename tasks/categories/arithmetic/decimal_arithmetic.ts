/**
 * Expressions of decimal numbers with + − × ÷. The value is computed as an exact fraction and
 * rounded once, to a number of significant digits; a half is rounded away from zero.
 */
import { counts, defineTask, int, type RandomStream } from "../../define.ts";
import { type Decimal, parseDecimal } from "../../python/decimals.ts";
import { calculated, type Fraction, parseFormula, run } from "../../python/formulas.ts";
import { drawBelow, withPoint } from "./terms.ts";

/** Maximum number of draws that divide by zero. After that, all operators are replaced by +. */
const DRAWS = 50;
const DEFAULT_PLACES = 3;

export default defineTask({
  description: "Evaluate an expression of decimal numbers.",
  scoring:
    "1 for a number that differs by at most 1 in the last of the decimal places that the numbers " +
    "of the data set can have, else 0.",
  params: {
    num_decimal_places: counts([3, 3], "digits after the point of a number", {
      min: 0,
      spans: [2, 4, 6, 8],
      as: "decimal_places",
    }),
    precision: int(12, "significant digits of the result", { min: 1, levels: [6, 8, 10, 12] }),
    terms: counts([2, 6], "numbers in an expression", {
      min: 1,
      levels: [2, 5, 8, 10],
      as: "num_terms",
    }),
  },
  rules: {
    "precision: must be above max_num_decimal_places + 1": (c) =>
      c.precision > c.max_num_decimal_places + 1,
  },
  clamp(config) {
    const minimum = config.max_num_decimal_places + 2;
    if (config.precision >= minimum) return [];
    const note = `precision: ${config.precision} is too small for the decimal places, ` +
      `${minimum} is used`;
    config.precision = minimum;
    return [note];
  },
  generate(random, config) {
    const terms = random.int(config.min_terms, config.max_terms);
    const numbers: string[] = [], allPlaces: number[] = [];
    for (let i = 0; i < terms; i++) {
      const places = random.int(config.min_num_decimal_places, config.max_num_decimal_places);
      numbers.push(withPoint(1n + drawBelow(random, 10n * 10n ** BigInt(places)), places));
      allPlaces.push(places);
    }
    let expression = "", value: Value | null = null;
    for (let draw = 0; draw <= DRAWS && value === null; draw++) {
      expression = grouped(random, numbers, draw < DRAWS ? ["+", "-", "*", "/"] : ["+"]);
      value = evaluated(expression);
    }
    return {
      question: `Work out ${expression} exactly, then round the result to at most ` +
        `${config.precision} significant digits (a half away from zero). Answer with the number ` +
        "only, as a decimal.",
      answer: rounded(value!, config.precision),
      metadata: { decimal_places: Math.max(...allPlaces), num_terms: terms },
      difficulty: {
        decimal_places: [config.min_num_decimal_places, config.max_num_decimal_places],
        num_terms: [config.min_terms, config.max_terms],
      },
    };
  },
  score(answer, entry) {
    const given = parseDecimal(answer), oracle = parseDecimal(entry.answer ?? "");
    if (given === null || oracle === null) return 0;
    const difficulty = entry.metadata?.["difficulty"] as { decimal_places?: unknown } | undefined;
    const range = difficulty?.decimal_places;
    const maximum = Array.isArray(range) ? range[1] : undefined;
    const places = Number.isInteger(maximum) && maximum >= 0 && maximum <= 100
      ? maximum
      : DEFAULT_PLACES;
    return differAtMost(given, oracle, places) ? 1 : 0;
  },
});

/** With the minimum number of decimal places of its text. */
interface Value extends Fraction {
  places: number;
}

/**
 * Splits the numbers at random places, recursively and in order; half of the groups get
 * parentheses.
 */
function grouped(
  random: RandomStream,
  numbers: readonly string[],
  operators: readonly string[],
): string {
  if (numbers.length === 1) return numbers[0]!;
  const split = random.int(1, numbers.length - 1);
  const left = grouped(random, numbers.slice(0, split), operators);
  const right = grouped(random, numbers.slice(split), operators);
  const joined = left + random.choice(operators) + right;
  return random.chance(0.5) ? `(${joined})` : joined;
}

/** The value of a generated expression; null after a division by zero. */
function evaluated(expression: string): Value | null {
  return run<Value>(parseFormula(expression, Infinity)!, {
    number(text) {
      const [whole, part = ""] = text.split(".") as [string, string?];
      const denominator = 10n ** BigInt(part.length);
      return { numerator: BigInt(whole + part), denominator, places: part.length };
    },
    operator(kind, a, b) {
      const value = calculated(kind, a, b);
      const places = kind === "*"
        ? a.places + b.places
        : kind === "/"
        ? Math.max(0, a.places - b.places)
        : Math.max(a.places, b.places);
      return value && { ...value, places };
    },
    name: () => null,
    call: () => null,
    negate: () => null,
  });
}

/**
 * Rounds to at most `precision` significant digits. Trailing zeros are kept up to the value's
 * places.
 */
function rounded({ numerator, denominator, places }: Value, precision: number): string {
  const size = numerator < 0n ? -numerator : numerator, sign = numerator < 0n ? -1n : 1n;
  if (size === 0n) return withPoint(0n, Math.min(places, precision - 1));
  let shift = precision - (size.toString().length - denominator.toString().length);
  let digits = quotient(size, denominator, shift);
  const limit = 10n ** BigInt(precision);
  // The lengths give the magnitude only to within one digit, and rounding may carry into another.
  while (digits >= limit) digits = quotient(size, denominator, --shift);
  while (shift > 0 && shift > places && digits % 10n === 0n) {
    digits /= 10n;
    shift--;
  }
  return shift >= 0
    ? withPoint(sign * digits, shift)
    : String(sign * digits * 10n ** BigInt(-shift));
}

/** size / denominator · 10^shift, with a half rounded up. */
function quotient(size: bigint, denominator: bigint, shift: number): bigint {
  const a = shift >= 0 ? size * 10n ** BigInt(shift) : size;
  const b = shift >= 0 ? denominator : denominator * 10n ** BigInt(-shift);
  return (2n * a + b) / (2n * b);
}

/** Maximum number of digits before and after the point that are compared. */
const WIDEST = 400;

/** Whether |a − b| ≤ 10^-places, exactly. */
function differAtMost(a: Decimal, b: Decimal, places: number): boolean {
  if (Math.max(magnitude(a), magnitude(b)) > WIDEST) return false;
  const difference = scaled(a) - scaled(b), tolerance = 10n ** BigInt(WIDEST - places);
  return difference <= tolerance && -difference <= tolerance;
}

/** The number of digits before the point. */
function magnitude({ digits, exponent }: Decimal): number {
  return digits.length + exponent;
}

/** The number in units of 10^-WIDEST. Digits beyond that raise its size by one unit. */
function scaled({ negative, digits, exponent }: Decimal): bigint {
  const places = WIDEST + exponent;
  const cut = digits.slice(0, Math.max(0, digits.length + Math.min(0, places)));
  let size = BigInt(cut || 0) * 10n ** BigInt(Math.max(0, places));
  if (cut.length < digits.length) size++;
  return negative ? -size : size;
}
