/**
 * Expressions of + − × ÷ over integers in which every division is exact. With parentheses they are
 * random binary trees; without, chains with the usual precedence. Values are exact at any size.
 */
import { bool, defineTask, int, levels, text, texts } from "../../define.ts";
import { exactScore } from "../../scoring_rules.ts";
import type { RandomStream } from "../../../core/philox.ts";
import { chain, tree } from "./expression.ts";

export default defineTask({
  description: "Evaluate an arithmetic expression.",
  ...exactScore("the number"),
  params: {
    min_terms: int(2, "fewest numbers in an expression", { min: 1 }),
    max_terms: int(6, "most numbers in an expression"),
    min_digits: int(1, "fewest digits of the largest number possible", { min: 1 }),
    max_digits: int(4, "most digits of the largest number possible", { max: 15 }),
    operators: texts(["+", "-", "*", "/"], "operators to draw from", ["+", "-", "*", "/"]),
    allow_parentheses: bool(true, "nest sub-expressions"),
    allow_negation: bool(true, "also draw negative numbers and negate sub-expressions"),
    format_style: text("simple", "wording of the question", ["simple", "natural"]),
    whitespace: text("single", "spaces between the symbols", ["no_space", "single", "random"]),
  },
  curriculum: {
    num_terms: levels([2, 3, 4, 5, 6], "numbers in the expression", "terms"),
    num_digits: levels([1, 2, 3, 4], "digits of the numbers", "digits"),
  },
  validate({ operators }) {
    return operators.length > 0 ? [] : ["operators: at least one is needed, found []"];
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
      ? tree(random, terms, options)
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
