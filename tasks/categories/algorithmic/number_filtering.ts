/** Keep or remove the numbers of a list that are larger or smaller than a threshold. */
import { counts, defineTask, exactScore, sizes } from "../../define.ts";
import { formatFixed, repr } from "../../python/repr.ts";

const OPERATIONS = ["keep_larger", "keep_smaller", "remove_larger", "remove_smaller"] as const;

export default defineTask({
  description: "Filter a list of numbers by a threshold.",
  ...exactScore("the list"),
  params: {
    numbers: counts([3, 10], "numbers of the list", { min: 1, spans: [10, 50, 100, 200] }),
    decimals: counts([0, 4], "decimal places", { min: 0, max: 99, spans: [0, 2, 4, 6] }),
    value: sizes([-100, 100], "number", {
      apart: true,
      real: true,
      each: [[-100, -500, -1000, -10000], [100, 500, 1000, 10000]],
    }),
  },
  generate(random, config) {
    const draw = (low: number, high: number) =>
      formatFixed(random.uniform(low, high), random.int(config.min_decimals, config.max_decimals));
    const count = random.int(config.min_numbers, config.max_numbers);
    const numbers = Array.from({ length: count }, () => draw(config.min_value, config.max_value));
    const values = numbers.map(Number);
    const threshold = draw(Math.min(...values), Math.max(...values)), limit = Number(threshold);
    const operation = random.choice(OPERATIONS);
    const [verb, size] = operation.split("_") as [string, string];
    const result = numbers.filter((_, i) => {
      const matches = size === "larger" ? values[i]! > limit : values[i]! < limit;
      return matches === (verb === "keep");
    });
    return {
      question: `${verb === "keep" ? "Keep only" : "Remove"} the numbers that are ${size} than ` +
        `${threshold} in this list:\n${repr(numbers)}\n` +
        "Answer with the resulting list in the same form: numbers as they are written here, in " +
        "the same order, each in single quotes, in square brackets with a comma and a space " +
        "between them; [] when none are left.",
      answer: repr(result),
      metadata: {
        original_numbers: numbers,
        filter_value: threshold,
        operation,
        result,
        numbers: count,
      },
      difficulty: {
        numbers: [config.min_numbers, config.max_numbers],
        decimals: [config.min_decimals, config.max_decimals],
        value: [config.min_value, config.max_value],
      },
    };
  },
});
