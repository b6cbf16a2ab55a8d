/** Sort decimal numbers; the answer is a Python list of their texts. */
import { consecutive, counts, defineTask, sizes } from "../../define.ts";
import { parseJson } from "../../python/literals.ts";
import { reprFloat, round } from "../../python/repr.ts";
import { parseDecimal } from "../../python/decimals.ts";
import { isOverlongList } from "./list_answer.ts";

/** Maximum relative error at which a number counts as the right one. */
const TOLERANCE = 1e-6;

/**
 * Maximum number of decimals: a double has no more that matter, and rounding to more is undefined.
 */
const MAX_DECIMALS = 99;

export default defineTask({
  description: "Sort numbers in ascending or descending order.",
  scoring:
    "1 for a list (numbers or quoted numbers) of the right length, in order, with every number " +
    "right to 1e-6 relative; else 0.",
  params: {
    numbers: counts([3, 10], "numbers", { min: 1, spans: [10, 100, 500, 1000] }),
    decimals: counts([0, 2], "decimals of a number", { min: 0, spans: consecutive(0, 7) }),
    value: sizes([-100, 100], "number", {
      apart: true,
      real: true,
      each: [[-100, -500, -1000, -10000], [100, 500, 1000, 10000]],
    }),
  },
  generate(random, config) {
    const count = random.int(config.min_numbers, config.max_numbers);
    const numbers = Array.from({ length: count }, () => {
      const decimals = random.int(config.min_decimals, config.max_decimals);
      const x = random.uniform(config.min_value, config.max_value);
      // Adding 0 turns a negative zero into zero.
      return round(x, Math.min(decimals, MAX_DECIMALS)) + 0;
    });
    const ascending = random.chance(0.5);
    const direction = ascending ? "ascending" : "descending";
    const original = numbers.map(reprFloat);
    const sorted = numbers.sort((a, b) => ascending ? a - b : b - a).map(reprFloat);
    return {
      question: `Sort these numbers in ${direction} order: ${original.join(", ")}\n` +
        "Answer with all of them as a list in square brackets, each number in single quotes " +
        "exactly as it is written above, such as ['-7.5', '0.25', '31.0'].",
      answer: `['${sorted.join("', '")}']`,
      metadata: { original_numbers: original, direction, sorted_numbers: sorted, numbers: count },
      difficulty: {
        numbers: [config.min_numbers, config.max_numbers],
        decimals: [config.min_decimals, config.max_decimals],
        value: [config.min_value, config.max_value],
      },
    };
  },
  score(answer, entry) {
    const listed = entry.metadata?.["sorted_numbers"] ?? readList(entry.answer ?? "");
    const expected = numbersOf(listed);
    if (expected === null || isOverlongList(answer, String(listed))) return 0;
    const numbers = numbersOf(readList(answer));
    if (numbers === null || numbers.length !== expected.length) return 0;
    const sign = entry.metadata?.["direction"] === "descending" ? -1 : 1;
    const right = numbers.every((x, i) =>
      Math.abs(x - expected[i]!) <= TOLERANCE * Math.abs(expected[i]!) &&
      (i === 0 || sign * (x - numbers[i - 1]!) >= 0)
    );
    return right ? 1 : 0;
  },
});

function readList(text: string): unknown {
  return parseJson(text.replaceAll("'", '"'));
}

/** Returns the finite numbers of a list of numbers or texts; null for any other value. */
function numbersOf(value: unknown): number[] | null {
  if (!Array.isArray(value)) return null;
  const numbers: number[] = [];
  for (const item of value) {
    const number = typeof item === "string" ? numberOf(item) : item;
    if (typeof number !== "number" || !Number.isFinite(number)) return null;
    numbers.push(number);
  }
  return numbers;
}

function numberOf(text: string): number | null {
  const decimal = parseDecimal(text);
  if (decimal === null) return null;
  return Number(`${decimal.negative ? "-" : ""}${decimal.digits}e${decimal.exponent}`);
}
