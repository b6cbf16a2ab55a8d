/** The number of ones in the binary representation of a number. */
import { defineTask, exactScore, sizes } from "../../define.ts";

export default defineTask({
  description: "Count the ones in the binary representation of a number.",
  ...exactScore("the number"),
  params: {
    n: sizes([1, 2147483647], "number", {
      min: 1,
      spans: [10, 1000, 1_000_000, 100_000_000, 2147483647],
    }),
  },
  generate(random, config) {
    const number = random.int(config.min_n, config.max_n);
    const binary = number.toString(2);
    let ones = 0;
    for (let i = 0; i < binary.length; i++) if (binary[i] === "1") ones++;
    return {
      question:
        `Write ${number} in binary. How many of its digits are 1? Answer with the count only.`,
      answer: String(ones),
      metadata: { number, solution: ones, binary, n: number },
    };
  },
});
