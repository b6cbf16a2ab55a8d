/** Products of several integers with the same number of digits. */
import { bool, defineTask, int, levels } from "../../define.ts";
import { decimalScore } from "../../scoring_rules.ts";
import { drawTerm } from "./terms.ts";

export default defineTask({
  description: "Multiply whole numbers.",
  scoring:
    "1 when the answer equals the product as a decimal number (thousands commas allowed); else " +
    "the product's share of the answer's length when it occurs in it; else 0.",
  params: {
    min_terms: int(2, "fewest factors", { min: 1 }),
    max_terms: int(2, "most factors"),
    min_digits: int(1, "fewest digits of a factor", { min: 1 }),
    max_digits: int(5, "most digits of a factor"),
    allow_negation: bool(false, "also draw negative numbers"),
  },
  curriculum: {
    num_terms: levels(
      [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12],
      "how many numbers are multiplied",
      "terms",
    ),
    num_digits: levels([1, 2, 3, 4, 5, 6, 7, 8, 9, 10], "digits of each number", "digits"),
  },
  generate(random, config) {
    const terms = random.int(config.min_terms, config.max_terms);
    const digits = random.int(config.min_digits, config.max_digits);
    const factors: bigint[] = [];
    for (let i = 0; i < terms; i++) factors.push(drawTerm(random, digits, config.allow_negation));
    const expression = factors.join(" * ");
    return {
      question: `Multiply: ${expression}. Answer with the product as a plain number only.`,
      answer: factors.reduce((product, factor) => product * factor, 1n).toString(),
      metadata: { expression, num_terms: terms, num_digits: digits },
    };
  },
  score: decimalScore,
});
