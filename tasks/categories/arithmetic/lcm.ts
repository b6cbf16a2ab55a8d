/** The least common multiple of several numbers. */
import { defineTask, int, intervals, levels } from "../../define.ts";
import { exactScore } from "../../scoring_rules.ts";
import { joinWithAnd, lcmOf } from "./divisors.ts";
import { mustBeAbove, raiseAbove } from "./rules.ts";

/** Draws to find numbers whose product is not the answer. The last draw is used in any case. */
const DRAWS = 3;

export default defineTask({
  description: "Find the least common multiple of numbers.",
  ...exactScore("the number"),
  params: {
    min_numbers: int(2, "fewest numbers", { min: 2 }),
    max_numbers: int(2, "most numbers"),
    min_value: int(1, "smallest number", { min: 1 }),
    max_value: int(100, "largest number"),
  },
  curriculum: {
    numbers: levels([2, 3, 4, 5], "how many numbers there are"),
    value: intervals([100, 1000, 10_000, 100_000], "size of the numbers"),
  },
  validate: (config) => mustBeAbove(config, "max_value", "min_value"),
  clamp: (config) => raiseAbove(config, "max_value", "min_value"),
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
