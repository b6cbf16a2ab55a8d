/** Powers of decimal numbers with positive and negative exponents, as the nearest double. */
import { defineTask, sizes } from "../../define.ts";
import { type Decimal, equalDecimals, parseDecimal } from "../../python/decimals.ts";
import { reprFloat } from "../../python/repr.ts";

/** Maximum number of draws of a power that fits a double. After that, the exponent is 0. */
const DRAWS = 50;
const SIGNIFICANT = 3;

export default defineTask({
  description: "Raise a number to a power.",
  scoring: "1 when both agree after rounding to 3 significant digits, else 0.01.",
  params: {
    base: sizes([-1000, 1000], "base", { apart: true, real: true, min: -1e9, max: 1e9 }),
    exponent: sizes([0, 8], "size of the exponent", {
      min: 0,
      max: 1000,
      levels: [2, 4, 6, 8, 10],
    }),
  },
  generate(random, config) {
    let base = 1, exponent = 0, solution = Infinity;
    for (let draw = 0; draw <= DRAWS && !Number.isFinite(solution); draw++) {
      const tenThousandths = Math.round(random.uniform(config.min_base, config.max_base) * 1e4);
      base = tenThousandths / 1e4 + 0;
      exponent = draw < DRAWS ? random.int(config.min_exponent, config.max_exponent) : 0;
      if (exponent > 0 && random.chance(0.5)) exponent = -exponent;
      solution = power(tenThousandths, exponent);
    }
    return {
      question: `What is ${base < 0 ? `(${base})` : base} to the power ${exponent}? ` +
        "Round to 3 significant digits (a tie to the even digit) and answer in e notation, such " +
        "as 4.07e-3 or -1.20e+5.",
      answer: reprFloat(solution),
      metadata: { base, exponent, solution },
    };
  },
  score(answer, entry) {
    const given = parseDecimal(answer), oracle = parseDecimal(entry.answer ?? "");
    if (given === null || oracle === null) return 0.01;
    return equalDecimals(rounded(given), rounded(oracle)) ? 1 : 0.01;
  },
});

/**
 * Digits to which a quotient is computed. 17 digits determine a double, except once in 10^23 cases.
 */
const QUOTIENT_DIGITS = 40;

/** A double below this has fewer significant digits, down to fewer than the score needs. */
const SMALLEST_NORMAL = 2 ** -1022;

/**
 * (m / 10^4)^exponent as the nearest double. Infinity for 0^-n and when a double is too small or
 * large.
 */
function power(tenThousandths: number, exponent: number): number {
  const size = Math.abs(exponent), shift = 4 * size;
  const numerator = BigInt(tenThousandths) ** BigInt(size);
  if (exponent >= 0) return checked(Number(`${numerator}e${-shift}`), numerator);
  if (numerator === 0n) return Infinity;
  const digits = QUOTIENT_DIGITS + numerator.toString().length;
  return checked(Number(`${10n ** BigInt(digits) / numerator}e${shift - digits}`), numerator);
}

function checked(value: number, numerator: bigint): number {
  return Math.abs(value) < SMALLEST_NORMAL && numerator !== 0n ? Infinity : value + 0;
}

/** Rounds to 3 significant digits, a tie to the even digit, and normalizes again. */
function rounded({ negative, digits, exponent }: Decimal): Decimal {
  if (digits.length <= SIGNIFICANT) return { negative, digits, exponent };
  const kept = Number(digits.slice(0, SIGNIFICANT)), rest = digits.slice(SIGNIFICANT);
  const up = rest[0]! > "5" || (rest[0] === "5" && (rest.length > 1 || kept % 2 === 1));
  const text = String(up ? kept + 1 : kept), short = text.replace(/0+$/, "");
  return { negative, digits: short, exponent: exponent + rest.length + text.length - short.length };
}
