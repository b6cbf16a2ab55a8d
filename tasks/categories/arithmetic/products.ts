/** Products of several integers with the same number of digits. */
import { bool, consecutive, counts, decimalScore, defineTask } from "../../define.ts";
import { drawTerm } from "./terms.ts";

export default defineTask({
  description: "Multiply whole numbers.",
  scoring:
    "1 when the answer equals the product as a decimal number (thousands commas allowed); else " +
    "the product's share of the answer's length when it occurs in it; else 0.",
  params: {
    terms: counts([2, 2], "factors", { min: 1, levels: consecutive(2, 12), as: "num_terms" }),
    digits: counts([1, 5], "digits of a factor", {
      min: 1,
      levels: consecutive(1, 10),
      as: "num_digits",
    }),
    allow_negation: bool(false, "also draw negative numbers"),
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
