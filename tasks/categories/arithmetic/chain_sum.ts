/** Sums and differences of several integers with the same number of digits. */
import { bool, consecutive, counts, decimalScore, defineTask } from "../../define.ts";
import { drawTerm } from "./terms.ts";

export default defineTask({
  description: "Add and subtract a chain of whole numbers.",
  scoring:
    "1 when the answer equals the sum as a decimal number (thousands commas allowed); else the " +
    "sum's share of the answer's length when it occurs in it; else 0.",
  params: {
    terms: counts([2, 6], "numbers in a chain", {
      min: 1,
      levels: consecutive(2, 12),
      as: "num_terms",
    }),
    digits: counts([1, 4], "digits of a number", {
      min: 1,
      levels: consecutive(1, 10),
      as: "num_digits",
    }),
    allow_negation: bool(false, "also draw negative numbers"),
  },
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
    };
  },
  score: decimalScore,
});
