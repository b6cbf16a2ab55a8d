/** Sums and differences of several integers with the same number of digits. */
import { bool, defineTask, int, levels } from "../../define.ts";
import { decimalScore } from "../../scoring_rules.ts";
import { drawTerm } from "./terms.ts";

export default defineTask({
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
  curriculum: {
    num_terms: levels(
      [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12],
      "how many numbers are chained",
      "terms",
    ),
    num_digits: levels([1, 2, 3, 4, 5, 6, 7, 8, 9, 10], "digits of each number", "digits"),
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
