/** Convert a number from one base to another. */
import { defineTask, int, intervals } from "../../define.ts";
import { defaultScore } from "../../scoring_rules.ts";

export default defineTask({
  description: "Convert a number between two bases.",
  scoring:
    "1 when equal; else the number's share of the answer's length when it occurs in it; else 0.",
  params: {
    min_base: int(2, "smallest base", { min: 2, max: 36 }),
    max_base: int(16, "largest base", { min: 2, max: 36 }),
    min_value: int(0, "smallest number", { min: 0 }),
    max_value: int(1000, "largest number", { min: 0 }),
  },
  curriculum: {
    base: intervals([2, 9, 18, 27, 36], "bases"),
    value: intervals([1000, 10000, 100000, 1000000], "number to convert"),
  },
  validate({ min_base, max_base, min_value, max_value }) {
    const errors: string[] = [];
    if (min_base === max_base) {
      errors.push(
        `max_base: must be > min_base, for the bases differ, found both ${max_base}`,
      );
    }
    if (min_value === max_value) {
      errors.push(`max_value: must be > min_value, found both ${max_value}`);
    }
    return errors;
  },
  clamp(config) {
    const notes: string[] = [];
    if (config.min_base === config.max_base) {
      if (config.max_base < 36) config.max_base++;
      else config.min_base--;
      notes.push(`max_base: equals min_base, ${config.min_base} to ${config.max_base} is used`);
    }
    if (config.min_value === config.max_value) {
      config.max_value++;
      notes.push(`max_value: equals min_value, ${config.max_value} is used`);
    }
    return notes;
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
  score: defaultScore,
});

function base(n: number): string {
  return n === 2 ? "binary" : n === 16 ? "hexadecimal" : `base-${n}`;
}
