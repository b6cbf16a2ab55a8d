/** Products of polynomials in expanded form; exact at any size. */
import type { RandomStream } from "../../../core/philox.ts";
import { bool, defineTask, int, levels, texts } from "../../define.ts";
import { isExpanded } from "./expanded.ts";
import { NOTATION } from "./formula_text.ts";
import { addTerm, type Polynomial, polynomialText, product, variablesOf } from "./polynomial.ts";
import { mustNotBeEmpty } from "./rules.ts";

/** Maximum number of attempts to draw a factor whose terms do not cancel out. */
const DRAWS = 20;

export default defineTask({
  description: "Multiply polynomials.",
  scoring:
    "1 when the answer is the product written out as a sum, in any order and also with several " +
    "terms of a kind, else 0.",
  params: {
    min_terms: int(2, "fewest terms of a polynomial", { min: 1 }),
    max_terms: int(4, "most terms of a polynomial"),
    min_value: int(1, "smallest coefficient", { min: 1 }),
    max_value: int(100, "largest coefficient"),
    min_degree: int(0, "smallest degree of a term", { min: 0 }),
    max_degree: int(3, "largest degree of a term", { max: 1000 }),
    min_polynomials: int(2, "fewest polynomials", { min: 2 }),
    max_polynomials: int(3, "most polynomials", { max: 100 }),
    variables: texts(["x", "y", "z"], "variables to draw from"),
    allow_cross_variable_product: bool(false, "each polynomial may have a variable of its own"),
    allow_multivariate_polynomials: bool(false, "a polynomial may have all variables"),
    operators: texts(["+", "-"], "signs of terms", ["+", "-"]),
  },
  curriculum: {
    min_terms: levels([2, 4, 6, 8], "fewest terms of a polynomial"),
    max_terms: levels([4, 8, 12, 16], "most terms of a polynomial"),
    min_value: levels([1, 10, 100, 1000], "smallest coefficient"),
    max_value: levels([100, 10_000, 1_000_000, 100_000_000], "largest coefficient"),
    min_degree: levels([0, 1, 2, 3], "smallest degree of a term"),
    max_degree: levels([2, 4, 8, 10], "largest degree of a term"),
    min_polynomials: levels([2, 3, 4, 5], "fewest polynomials"),
    max_polynomials: levels([4, 6, 8, 10], "most polynomials"),
  },
  validate(config) {
    const { variables, operators } = config;
    const errors = mustNotBeEmpty("variables", variables);
    errors.push(...mustNotBeEmpty("operators", operators));
    for (const name of variables) {
      if (!/^[A-Za-z_]\w*$/.test(name)) {
        errors.push(`variables: each must be a name such as x, found ${JSON.stringify(name)}`);
      }
    }
    if (config.allow_multivariate_polynomials && !config.allow_cross_variable_product) {
      errors.push(
        "allow_multivariate_polynomials: needs allow_cross_variable_product = true, found false",
      );
    }
    return errors;
  },
  generate(random, config) {
    const names = [...new Set(config.variables)].sort();
    const shared = random.below(names.length);
    const factors: Polynomial[] = [];
    const count = random.int(config.min_polynomials, config.max_polynomials);
    for (let i = 0; i < count; i++) {
      const variableIndex = config.allow_cross_variable_product
        ? random.below(names.length)
        : shared;
      const monomial = config.allow_multivariate_polynomials
        ? () => anyMonomial(random, names.length, config.min_degree, config.max_degree)
        : () => {
          const degree = random.int(config.min_degree, config.max_degree);
          return names.map((_, variable) => variable === variableIndex ? degree : 0);
        };
      factors.push(drawFactor(random, config, monomial));
    }
    const result = factors.reduce(product);
    const polynomial_expr = factors.map((factor) => `(${polynomialText(factor, names)})`).join("*");
    return {
      question: `Multiply and write the result out as one sum, without brackets:\n` +
        `${polynomial_expr}\n${NOTATION} Answer with the sum only.`,
      answer: polynomialText(result, names),
      metadata: { polynomial_expr, variables: variablesOf(result, names) },
    };
  },
  score: (answer, entry) => isExpanded(answer, entry.answer ?? "") ? 1 : 0,
});

interface Limits {
  min_terms: number;
  max_terms: number;
  min_value: number;
  max_value: number;
  operators: readonly string[];
}

function drawFactor(
  random: RandomStream,
  { min_terms, max_terms, min_value, max_value, operators }: Limits,
  monomial: () => number[],
): Polynomial {
  const terms = random.int(min_terms, max_terms);
  for (let draw = 1;; draw++) {
    const factor: Polynomial = new Map();
    for (let i = 0; i < terms; i++) {
      const size = random.int(min_value, max_value);
      const negative = operators.includes("-") && random.chance(0.5);
      addTerm(factor, monomial(), BigInt(negative ? -size : size));
    }
    const isZero = [...factor.values()].every(({ coefficient }) => coefficient === 0n);
    if (!isZero || draw === DRAWS) return factor;
  }
}

/** Draws uniformly among all monomials of total degree min to max (stars and bars). */
function anyMonomial(random: RandomStream, variables: number, min: number, max: number): number[] {
  const degrees: number[] = [], weights: number[] = [];
  let ways = 1;
  for (let degree = 0; degree <= max; degree++) {
    if (degree > 0) ways *= (degree + variables - 1) / degree;
    if (degree < min) continue;
    degrees.push(degree);
    weights.push(ways);
  }
  const degree = random.weighted(degrees, weights);
  const places = Array.from({ length: degree + variables - 1 }, (_, i) => i);
  const bars = random.sample(places, variables - 1).sort((a, b) => a - b);
  return [...bars, places.length].map((bar, i) => i === 0 ? bar : bar - bars[i - 1]! - 1);
}
