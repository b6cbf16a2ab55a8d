/** A linear equation in one variable with an integer solution; exact at any size. */
import { choices, counts, defineTask, exactScore, sizes, sumToOne, weights } from "../../define.ts";
import { sumText } from "./formula_text.ts";

const LETTERS = "abcdefghijklmnopqrstuvwxyz";

export default defineTask({
  description: "Solve a linear equation.",
  ...exactScore("the number"),
  params: {
    terms: counts([2, 4], "terms that are combined", {
      min: 1,
      max: 1000,
      each: [[2, 3, 4, 5], [5, 10, 15, 20]],
    }),
    value: sizes([1, 100], "constant and solution", {
      min: 1,
      each: [[1, 10, 100, 1000], [100, 10_000, 1_000_000, 100_000_000]],
    }),
    operators: choices(["+", "-", "*"], "operators to draw from", ["+", "-", "*"]),
    operators_weights: weights([0.4, 0.4, 0.2], "probability of each", "operators", [
      [0.4, 0.4, 0.2],
      [0.35, 0.35, 0.3],
      [0.3, 0.3, 0.4],
      [0.2, 0.2, 0.6],
    ]),
  },
  rules: { "operators_weights: must sum to 1": (c) => sumToOne(c.operators_weights) },
  generate(random, config) {
    const { operators, operators_weights, min_value, max_value } = config;
    const constant = () => BigInt(random.int(min_value, max_value));
    const variable = LETTERS[random.below(LETTERS.length)]!;
    const terms = random.int(config.min_terms, config.max_terms), place = random.below(terms);
    // The terms combined so far are slope · variable + rest.
    let slope = 0n, rest = 0n;
    for (let i = 0; i < terms; i++) {
      const operator = i === 0 ? "+" : random.weighted(operators, operators_weights);
      const value = i === place && !operators.includes("*") ? 1n : constant();
      if (operator === "*") {
        if (i === place) [slope, rest] = [rest * value, 0n];
        else [slope, rest] = [slope * value, rest * value];
      } else {
        const change = operator === "+" ? value : -value;
        if (i === place) slope += change;
        else rest += change;
      }
    }
    // The constants before a product with the variable can sum to 0. The variable would then cancel
    // out.
    if (slope === 0n) slope = constant();
    const solution = constant();
    const left = sumText([{ numerator: slope, factor: variable }, { numerator: rest, factor: "" }]);
    const equation = `${left} = ${slope * solution + rest}`;
    return {
      question: `Which number ${variable} solves the equation ${equation}? Answer with the ` +
        "number only.",
      answer: String(solution),
      metadata: { equation, variable },
    };
  },
});
