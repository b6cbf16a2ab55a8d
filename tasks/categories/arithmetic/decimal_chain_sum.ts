/** Sums and differences of decimal numbers, computed exactly. */
import { bool, defineTask, int, intervals, levels } from "../../define.ts";
import { equalDecimals, parseDecimal } from "../../python/decimals.ts";
import type { ScorableEntry } from "../../types.ts";
import { drawBelow, drawTerm, withPoint } from "./terms.ts";

export default defineTask({
  description: "Add and subtract a chain of decimal numbers.",
  scoring: "1 when the answer is the same decimal number (2.50 = 2.5 = 25e-1), else 0.",
  params: {
    min_terms: int(2, "fewest numbers in a chain", { min: 1 }),
    max_terms: int(6, "most numbers in a chain"),
    min_digits: int(1, "fewest digits before the point", { min: 1 }),
    max_digits: int(4, "most digits before the point"),
    min_decimal_places: int(1, "fewest digits after the point", { min: 0 }),
    max_decimal_places: int(4, "most digits after the point"),
    allow_negation: bool(false, "also draw negative numbers"),
  },
  curriculum: {
    num_terms: levels([2, 5, 8, 10], "how many numbers are chained", "terms"),
    num_digits: intervals([1, 2, 4, 8, 10], "digits before the point", "digits"),
    decimal_places: intervals([1, 2, 4, 6, 8], "digits after the point"),
  },
  generate(random, config) {
    const terms = random.int(config.min_terms, config.max_terms);
    const digits = random.int(config.min_digits, config.max_digits);
    let expression = "", total = 0n, places = 0;
    for (let i = 0; i < terms; i++) {
      const termPlaces = random.int(config.min_decimal_places, config.max_decimal_places);
      const whole = drawTerm(random, digits, config.allow_negation);
      const fraction = termPlaces === 0 ? 0n : drawBelow(random, 10n ** BigInt(termPlaces));
      const shift = 10n ** BigInt(termPlaces);
      const value = whole < 0n ? whole * shift - fraction : whole * shift + fraction;
      const minus = i > 0 && random.chance(0.5);
      if (i > 0) expression += minus ? " - " : " + ";
      expression += withPoint(value, termPlaces);
      if (termPlaces > places) {
        total *= 10n ** BigInt(termPlaces - places);
        places = termPlaces;
      }
      const aligned = value * 10n ** BigInt(places - termPlaces);
      total += minus ? -aligned : aligned;
    }
    return {
      question: `What is ${expression}? Answer with the exact decimal number only.`,
      answer: withPoint(total, places),
      metadata: { num_terms: terms, num_digits: digits, expression },
    };
  },
  score(answer: string, entry: ScorableEntry): number {
    const given = parseDecimal(answer), oracle = parseDecimal(entry.answer ?? "");
    return given !== null && oracle !== null && equalDecimals(given, oracle) ? 1 : 0;
  },
});
