/** Indefinite integrals of sums of powers. */
import type { RandomStream } from "../../../core/philox.ts";
import { choices, type ConfigOf, counts, defineTask, sizes } from "../../define.ts";
import { type Part, powerText, sumText } from "./formula_text.ts";
import { INTEGRAL_SCORING, integralQuestion, scoreIntegral } from "./integral.ts";

/** Coefficients are integers or have a denominator from 2 to 10, so all are multiples of 1/2520. */
const UNIT = 2520;
const MAX_DIVISOR = 10;
/** Maximum number of attempts to draw a sum that is not constant. */
const DRAWS = 20;

const params = {
  terms: counts([2, 5], "terms of the answer", { min: 0, levels: [2, 3, 4, 5] }),
  degree: sizes([1, 10], "degree of the answer's terms", { min: -10, max: 1000 }),
  bounds: sizes([1, 10], "coefficient", { min: 1, max: 1e9 }),
  operators: choices(["+", "-"], "signs of terms", ["+", "-"]),
  symbols: choices(["x", "X"], "variables to draw from"),
};

type Config = ConfigOf<typeof params>;

export default defineTask({
  description: "Find the indefinite integral of a sum of powers.",
  scoring: INTEGRAL_SCORING,
  params,
  rules: {
    "symbols: each must be one letter": ({ symbols }) =>
      symbols.every((name) => /^[A-Za-z]$/.test(name)),
  },
  generate(random, config) {
    const variable = random.choice(config.symbols);
    const num_terms = random.int(config.min_terms, config.max_terms);
    let sum = drawSum(random, config, num_terms);
    for (let draw = 1; draw < DRAWS && isConstant(sum); draw++) {
      sum = drawSum(random, config, num_terms);
    }
    const powers = [...sum].sort(([a], [b]) => b - a);
    const integrand = sumText(powers.map(([n, c]) => part(BigInt(n) * c, variable, n - 1)));
    return {
      question: integralQuestion(integrand, variable),
      answer: `${sumText(powers.map(([n, c]) => part(c, variable, n)))} + C`,
      metadata: { integrand, variable, num_terms },
    };
  },
  score: scoreIntegral,
});

/** Maps degrees to coefficients in units of 1/2520. */
type Sum = Map<number, bigint>;

function drawSum(
  random: RandomStream,
  { min_degree, max_degree, min_bounds, max_bounds, operators }: Config,
  terms: number,
): Sum {
  const sum: Sum = new Map();
  for (let i = 0; i < terms; i++) {
    const degree = random.int(min_degree, max_degree);
    const size = random.int(min_bounds, max_bounds);
    const unit = UNIT / (random.chance(0.5) ? 1 : random.int(2, MAX_DIVISOR));
    const value = BigInt(size) * BigInt(unit);
    sum.set(degree, (sum.get(degree) ?? 0n) + (random.choice(operators) === "-" ? -value : value));
  }
  return sum;
}

function isConstant(sum: Sum): boolean {
  return [...sum].every(([degree, value]) => degree === 0 || value === 0n);
}

/** value/2520 · variable^exponent in lowest terms. */
function part(value: bigint, variable: string, exponent: number): Part {
  let a = BigInt(UNIT), b = value < 0n ? -value : value;
  while (b !== 0n) [a, b] = [b, a % b];
  const quotient = { numerator: value / a, denominator: BigInt(UNIT) / a };
  return exponent < 0
    ? { ...quotient, factor: "", below: powerText(variable, -exponent) }
    : { ...quotient, factor: powerText(variable, exponent) };
}
