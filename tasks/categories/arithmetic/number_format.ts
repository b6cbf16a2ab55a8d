/**
 * Pick the largest or smallest of numbers that are close together and written in different ways.
 * The numbers are drawn as multiples of a decimal step, so that they are distinct as drawn, as
 * printed and as doubles.
 */
import { counts, defineTask, float, type RandomStream, sizes } from "../../define.ts";
import { reprFloat } from "../../python/repr.ts";
import { parseDecimal } from "../../python/decimals.ts";

/** Number of decimal digits that every double can distinguish. */
const DIGITS = 15;
/** An answer within this distance of the solution is right, unless another candidate is closer. */
const TOLERANCE = 0.01;

export default defineTask({
  description: "Find the largest or smallest number among several formats.",
  scoring:
    "1 for a number within 0.01 of the solution that no other candidate is nearer to, else 0.",
  params: {
    num_candidates: counts([2, 5], "numbers to choose from", { min: 2, spans: [5, 25, 100, 500] }),
    n: sizes([1000, 1e9], "size of the numbers", {
      apart: true,
      real: true,
      min: 1,
      max: 1e13,
      spans: [1000, 100_000, 1_000_000, 1_000_000_000],
    }),
    max_delta: float(10, "largest distance from the first number", {
      max: 1e12,
      levels: [10, 1, 0.001, 1e-6],
    }),
  },
  rules: { "max_delta: must be above 0": ({ max_delta }) => max_delta > 0 },
  generate(random, config) {
    const count = random.int(config.min_num_candidates, config.max_num_candidates);
    const { values, places } = drawCandidates(random, config, count);
    const size = random.choice(["largest", "smallest"]);
    const solution = toDouble(
      size === "largest" ? Math.max(...values) : Math.min(...values),
      places,
    );
    const formatted = values.map((value) => format(value, places, random.choice(FORMATS)));
    return {
      question: `Which of these numbers is the ${size}? They are written in different formats.\n` +
        `${formatted.join("  ")}\nAnswer with that number only, in any of the formats.`,
      answer: reprFloat(solution),
      metadata: {
        candidates: values.map((value) => toDouble(value, places)),
        solution,
        formatted_candidates: formatted,
        size,
        num_candidates: count,
      },
      difficulty: {
        num_candidates: [config.min_num_candidates, config.max_num_candidates],
        n: [config.min_n, config.max_n],
        min_delta: config.max_delta,
      },
    };
  },
  score(answer, entry) {
    const decimal = parseDecimal(answer.replaceAll(",", ""));
    const solution = entry.metadata?.["solution"] ?? Number(entry.answer ?? NaN);
    if (decimal === null || typeof solution !== "number") return 0;
    const given = Number(`${decimal.negative ? "-" : ""}${decimal.digits}e${decimal.exponent}`);
    const distance = Math.abs(given - solution);
    if (!(distance < TOLERANCE)) return 0;
    const candidates = entry.metadata?.["candidates"];
    const closer = Array.isArray(candidates) &&
      candidates.some((candidate) => Math.abs(given - candidate) < distance);
    return closer ? 0 : 1;
  },
});

interface Candidates {
  /** In units of 10^-places. */
  values: number[];
  places: number;
}

/**
 * Draws the first number between min_n and max_n, and the others at most max_delta away. The
 * distance is larger only where doubles are too coarse for so many distinct numbers.
 */
function drawCandidates(
  random: RandomStream,
  config: { min_n: number; max_n: number; max_delta: number },
  count: number,
): Candidates {
  const first = random.uniform(config.min_n, config.max_n);
  const wholeDigits = String(Math.floor(first + config.max_delta)).length;
  const wanted = Math.max(3, 4 - Math.floor(Math.log10(config.max_delta)));
  const places = Math.max(0, Math.min(wanted, DIGITS - 1 - wholeDigits));
  const base = Math.round(first * 10 ** places);
  const reach = Math.max(Math.round(config.max_delta * 10 ** places), count);
  const values = new Set([base]);
  while (values.size < count) values.add(base + random.int(-reach, reach));
  return { values: [...values], places };
}

function toDouble(value: number, places: number): number {
  return Number(`${value}e${-places}`);
}

const FORMATS = ["standard", "english", "scientific"] as const;

/** Formats value / 10^places exactly, without the rounding errors of a double. */
function format(value: number, places: number, style: typeof FORMATS[number]): string {
  const sign = value < 0 ? "-" : "", digits = String(Math.abs(value)).padStart(places + 1, "0");
  if (style === "scientific") {
    const significant = digits.replace(/^0+(?=.)/, "");
    const exponent = significant === "0" ? 0 : significant.length - 1 - places;
    const power = `${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
    return `${sign}${significant[0]}.${significant.slice(1).padEnd(DIGITS, "0")}e${power}`;
  }
  const split = digits.length - places;
  const whole = digits.slice(0, split), fraction = digits.slice(split);
  if (style === "standard") return `${sign}${whole}.${fraction.padEnd(6, "0")}`;
  const grouped = whole.replace(/[0-9](?=(?:[0-9]{3})+$)/g, "$&,");
  return `${sign}${grouped}.${fraction.replace(/0+$/, "") || "0"}`;
}
