/** Sums and differences of several whole numbers with the same number of digits. */
import { bool, defineTask, int, rangeAttribute } from "../define.ts";
import { decimalScore } from "../scoring.ts";
import type { RandomStream } from "../../core/philox.ts";

export default defineTask({
  name: "chain_sum",
  category: "arithmetic",
  description: "Add and subtract a chain of whole numbers.",
  scoring:
    "1 when the answer equals the sum as a decimal number (thousands commas allowed); else the " +
    "sum's share of the answer's length when it occurs in it; else 0.",
  params: {
    min_terms: int(2, "fewest numbers in a chain", { min: 1 }),
    max_terms: int(6, "most numbers in a chain"),
    min_digits: int(1, "fewest digits of a number", { min: 1 }),
    max_digits: int(4, "most digits of a number"),
    allow_negation: bool(false, "also draw negative numbers"),
  },
  curriculum: [
    rangeAttribute(
      "num_terms",
      ["min_terms", "max_terms"],
      [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12],
      "how many numbers are chained",
    ),
    rangeAttribute(
      "num_digits",
      ["min_digits", "max_digits"],
      [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
      "digits of each number",
    ),
  ],
  generate(random, config) {
    const terms = random.int(config.min_terms, config.max_terms);
    const digits = random.int(config.min_digits, config.max_digits);
    let expression = "", total = 0n;
    for (let i = 0; i < terms; i++) {
      const value = drawTerm(random, digits, config.allow_negation);
      const minus = i > 0 && random.chance(0.5);
      if (i > 0) expression += minus ? " - " : " + ";
      expression += value;
      total += minus ? -value : value;
    }
    return {
      question: `What is ${expression}? Answer with the number only.`,
      answer: total.toString(),
      metadata: { num_terms: terms, num_digits: digits, expression },
      difficulty: {
        num_terms: [config.min_terms, config.max_terms],
        num_digits: [config.min_digits, config.max_digits],
      },
    };
  },
  score: decimalScore,
});

/** One digit: 0–9; more: no leading zero; with negation the whole range ±(10^digits − 1). */
function drawTerm(random: RandomStream, digits: number, negation: boolean): bigint {
  if (negation) {
    const limit = 10n ** BigInt(digits) - 1n;
    return belowBig(random, 2n * limit + 1n) - limit;
  }
  const low = digits === 1 ? 0n : 10n ** BigInt(digits - 1);
  return low + belowBig(random, 10n ** BigInt(digits) - low);
}

const CHUNK = 10n ** 15n;

/** Uniform in [0, n) for any n ≥ 1: a native draw when it fits, else decimal chunks with rejection. */
function belowBig(random: RandomStream, n: bigint): bigint {
  if (n <= CHUNK) return BigInt(random.below(Number(n)));
  for (;;) {
    let value = 0n, range = 1n;
    while (range < n) {
      value = value * CHUNK + BigInt(random.below(1e15));
      range *= CHUNK;
    }
    if (value < range - range % n) return value % n;
  }
}
