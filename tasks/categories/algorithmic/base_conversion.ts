/** Convert a number from one base to another. */
import { defineTask, exactScore, sizes } from "../../define.ts";

export default defineTask({
  description: "Convert a number between two bases.",
  ...exactScore("the number"),
  params: {
    base: sizes([2, 16], "base", { apart: true, min: 2, max: 36, spans: [2, 9, 18, 27, 36] }),
    value: sizes([0, 1000], "number", {
      apart: true,
      min: 0,
      spans: [1000, 10000, 100000, 1000000],
    }),
  },
  generate(random, config) {
    const value = random.int(config.min_value, config.max_value);
    const source = random.int(config.min_base, config.max_base);
    let target = random.int(config.min_base, config.max_base - 1);
    if (target >= source) target++;
    const digits = value.toString(source);
    const answer = value.toString(target);
    const letters = Math.max(source, target) > 10
      ? " The letters a to z, in lower case, are the digits above 9."
      : "";
    return {
      question: `Convert the ${base(source)} number ${digits} to ${base(target)}.${letters}\n` +
        "Answer with the digits only, without a prefix.",
      answer,
      metadata: {
        decimal_value: value,
        source_base: source,
        target_base: target,
        source_repr: digits,
        target_repr: answer,
      },
    };
  },
});

function base(n: number): string {
  return n === 2 ? "binary" : n === 16 ? "hexadecimal" : `base-${n}`;
}
