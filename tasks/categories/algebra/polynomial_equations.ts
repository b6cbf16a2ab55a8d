/** The real roots of a polynomial equation. */
import type { RandomStream } from "../../../core/philox.ts";
import { defineTask, int, intervals, levels, texts } from "../../define.ts";
import { reprFloat, round } from "../../python/repr.ts";
import { isBlank, strip } from "../../python/text.ts";
import { parseDecimal } from "../../python/decimals.ts";
import type { ScorableEntry } from "../../types.ts";
import { powerText, sumText } from "./formula_text.ts";
import { realRoots } from "./real_roots.ts";
import { mustNotBeEmpty } from "./rules.ts";

/** Excludes i and j, which could be read as the imaginary unit. */
const LETTERS = "abcdefghklmnopqrstuvwxyz";
/** Maximum number of attempts to draw an equation with a real root. */
const DRAWS = 20;
const DECIMALS = 4;
/** In characters; no list of roots is longer. */
const MAX_LENGTH = 20_000;
/** An underscore that is not between two digits; no number of Python has one. */
const MISPLACED = /(?<!\p{Nd})_|_(?!\p{Nd})/u;

export default defineTask({
  description: "Find the real roots of a polynomial equation.",
  scoring:
    "The mean of e^(-10 d) over the roots given, each matched with the nearest right one at a " +
    "distance d, minus 0.5 for each root missing or too many, at least 0. Without real roots " +
    "only a blank is right.",
  acceptsBlank: true,
  params: {
    min_terms: int(2, "fewest terms that are drawn", { min: 1 }),
    max_terms: int(4, "most terms that are drawn"),
    min_value: int(1, "smallest coefficient", { min: 1 }),
    max_value: int(100, "largest coefficient", { max: 1e9 }),
    min_degree: int(1, "smallest degree", { min: 1 }),
    max_degree: int(3, "largest degree", { max: 20 }),
    operators: texts(["+", "-"], "signs of terms", ["+", "-"]),
  },
  curriculum: {
    degree: intervals([1, 2, 3, 4], "degree of the equation"),
    terms: levels([2, 3, 4, 5], "terms that are drawn"),
  },
  validate: ({ operators }) => mustNotBeEmpty("operators", operators),
  generate(random, config) {
    const variable = LETTERS[random.below(LETTERS.length)]!;
    let degree = 0, terms = 0, coefficients: number[] = [], roots: number[] = [];
    for (let draw = 0; draw < DRAWS && roots.length === 0; draw++) {
      degree = random.int(config.min_degree, config.max_degree);
      terms = random.int(config.min_terms, config.max_terms);
      coefficients = drawCoefficients(random, config, degree, terms);
      roots = realRoots(coefficients);
    }
    const solutions = [...new Set(roots.map((root) => round(root, DECIMALS) + 0))];
    const polynomial_expr = sumText(
      coefficients.map((numerator, i) => ({ numerator, factor: powerText(variable, i) })).reverse(),
    );
    return {
      question: `Find all real values of ${variable} for which ${polynomial_expr} = 0.\n` +
        "Answer with the different values in ascending order as decimal numbers, rounded to " +
        `${DECIMALS} places and separated by commas, such as -1.25, 0.3333. If there is none, ` +
        'answer with "".',
      answer: solutions.map(reprFloat).join(", "),
      metadata: {
        polynomial_expr,
        variable,
        degree,
        real_solutions: solutions,
        num_terms: terms,
      },
      difficulty: {
        terms: [config.min_terms, config.max_terms],
        degree: [config.min_degree, config.max_degree],
      },
    };
  },
  score,
});

function drawCoefficients(
  random: RandomStream,
  { min_value, max_value, operators }: {
    min_value: number;
    max_value: number;
    operators: readonly string[];
  },
  degree: number,
  terms: number,
): number[] {
  const coefficients = new Array<number>(degree + 1).fill(0);
  let first = 0;
  for (let i = 0; i < terms; i++) {
    const size = random.int(min_value, max_value);
    const value = operators.includes("-") && random.chance(0.5) ? -size : size;
    if (i === 0) first = value;
    coefficients[i === 0 ? degree : random.int(0, degree)]! += value;
  }
  // Restores the drawn degree in case the highest terms cancelled.
  if (coefficients[degree] === 0) coefficients[degree] = first;
  return coefficients;
}

function score(answer: string, entry: ScorableEntry): number {
  const oracle = numbers(entry.answer ?? "", Infinity) ?? [];
  if (oracle.length === 0) return isBlank(answer) || strip(answer) === '""' ? 1 : 0;
  if (answer.length > MAX_LENGTH) return 0;
  // One surplus number costs 0.5, so with two of them the score is 0 already.
  const given = numbers(answer, oracle.length + 1);
  if (given === null || given.length === 0) return 0;
  given.sort((a, b) => a - b);
  const left = [...oracle];
  let sum = 0, matched = 0;
  for (const value of given) {
    if (left.length === 0) break;
    let nearest = 0;
    for (let i = 1; i < left.length; i++) {
      if (Math.abs(left[i]! - value) < Math.abs(left[nearest]! - value)) nearest = i;
    }
    sum += Math.exp(-10 * Math.abs(left[nearest]! - value));
    matched++;
    left.splice(nearest, 1);
  }
  return Math.max(0, sum / matched - 0.5 * Math.abs(given.length - oracle.length));
}

/**
 * Reads the numbers between the commas of a text and skips other parts. Returns null when there are
 * more than `limit`.
 */
function numbers(text: string, limit: number): number[] | null {
  const list: number[] = [];
  for (let start = 0; start <= text.length;) {
    const comma = text.indexOf(",", start), end = comma < 0 ? text.length : comma;
    const part = text.slice(start, end);
    const decimal = MISPLACED.test(part) ? null : parseDecimal(part);
    if (decimal !== null) {
      const size = Number(`${decimal.digits}e${decimal.exponent}`);
      if (list.push(decimal.negative ? -size : size) > limit) return null;
    }
    start = end + 1;
  }
  return list;
}
