/** Sums and differences of decimal numbers, computed exactly. */
import { bool, counts, defineTask } from "../../define.ts";
import { equalDecimals, parseDecimal } from "../../python/decimals.ts";
import { drawBelow, drawTerm, withPoint } from "./terms.ts";

export default defineTask({
  description: "Add and subtract a chain of decimal numbers.",
  scoring: "1 when the answer is the same decimal number (2.50 = 2.5 = 25e-1), else 0.",
  params: {
    terms: counts([2, 6], "numbers in a chain", { min: 1, levels: [2, 5, 8, 10], as: "num_terms" }),
    digits: counts([1, 4], "digits before the point", {
      min: 1,
      spans: [1, 2, 4, 8, 10],
      as: "num_digits",
    }),
    decimal_places: counts([1, 4], "digits after the point", { min: 0, spans: [1, 2, 4, 6, 8] }),
    allow_negation: bool(false, "also draw negative numbers"),
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
  score(answer, entry) {
    const given = parseDecimal(answer), oracle = parseDecimal(entry.answer ?? "");
    return given !== null && oracle !== null && equalDecimals(given, oracle) ? 1 : 0;
  },
});
