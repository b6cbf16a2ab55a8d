/** The least common multiple of several numbers. */
import { counts, defineTask, exactScore, sizes } from "../../define.ts";
import { joinWithAnd, lcmOf } from "./divisors.ts";

/** Draws to find numbers whose product is not the answer. The last draw is used in any case. */
const DRAWS = 3;

export default defineTask({
  description: "Find the least common multiple of numbers.",
  ...exactScore("the number"),
  params: {
    numbers: counts([2, 2], "numbers", { min: 2, levels: [2, 3, 4, 5] }),
    value: sizes([1, 100], "number", { apart: true, min: 1, spans: [100, 1000, 10_000, 100_000] }),
  },
  generate(random, config) {
    const count = random.int(config.min_numbers, config.max_numbers);
    let numbers: number[] = [], result = 0n, product = 0n;
    for (let draw = 0; draw < DRAWS && result === product; draw++) {
      numbers = Array.from({ length: count }, () => random.int(config.min_value, config.max_value));
      result = lcmOf(numbers);
      product = numbers.reduce((all, number) => all * BigInt(number), 1n);
    }
    return {
      question:
        `What is the least common multiple of ${joinWithAnd(numbers)}? Answer with the number ` +
        "only.",
      answer: String(result),
      metadata: { numbers, result: Number(result) },
    };
  },
});
