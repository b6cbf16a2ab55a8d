/** The greatest common divisor of several numbers. */
import { counts, defineTask, exactScore, sizes } from "../../define.ts";
import { gcdOf, joinWithAnd } from "./divisors.ts";

/** Draws to find numbers with a common divisor above 1. The last draw is used in any case. */
const DRAWS = 3;

export default defineTask({
  description: "Find the greatest common divisor of numbers.",
  ...exactScore("the number"),
  params: {
    numbers: counts([2, 2], "numbers", { min: 2, levels: [2, 3, 4, 5], as: "num_terms" }),
    value: sizes([1, 1000], "number", { apart: true, min: 1, spans: [100, 1000, 10_000, 100_000] }),
  },
  generate(random, config) {
    const count = random.int(config.min_numbers, config.max_numbers);
    let numbers: number[] = [], result = 1;
    for (let draw = 0; draw < DRAWS && result === 1; draw++) {
      numbers = Array.from({ length: count }, () => random.int(config.min_value, config.max_value));
      result = numbers.reduce(gcdOf);
    }
    return {
      question: `What is the greatest common divisor of ${joinWithAnd(numbers)}? Answer with the ` +
        "number only.",
      answer: String(result),
      metadata: { numbers, result, num_terms: count },
    };
  },
});
