/** Indefinite integrals that need a substitution or integration by parts. */
import { defineTask, int, levels, type Param, texts } from "../../define.ts";
import { INTEGRAL_SCORING, integralQuestion, scoreIntegral } from "./integral.ts";
import { drawProblem, FAMILY_NAMES } from "./integral_families.ts";
import { mustNotBeEmpty, weights } from "./rules.ts";

const EQUAL = FAMILY_NAMES.map(() => 1 / FAMILY_NAMES.length);

/** A string counts as the list of its characters. */
const symbols: Param<string | string[]> = {
  type: "string[]",
  default: "x",
  values: ["x", "X"],
  description: "variables to draw from",
};

export default defineTask({
  description: "Find an indefinite integral by substitution or by parts.",
  scoring: INTEGRAL_SCORING,
  params: {
    problem_types: texts([...FAMILY_NAMES], "kinds of integrands", FAMILY_NAMES),
    problem_type_weights: weights(EQUAL, "weight of each kind"),
    linear_lower_bound: int(1, "smallest coefficient of an inner function", { min: 1 }),
    linear_upper_bound: int(10, "largest coefficient of an inner function", { max: 400 }),
    min_linear_degree: int(2, "smallest power of a linear term", { min: 1 }),
    max_linear_degree: int(4, "largest power of a linear term", { max: 50 }),
    outer_constant_min: int(1, "smallest factor of an integrand", { min: 1 }),
    outer_constant_max: int(3, "largest factor of an integrand", { max: 1000 }),
    min_poly_degree: int(1, "smallest power beside sin, cos or exp", { min: 1 }),
    max_poly_degree: int(3, "largest power beside sin, cos or exp", { max: 12 }),
    symbols,
    operators: texts(["+", "-"], "signs of numbers", ["+", "-"]),
  },
  curriculum: {
    problem_type_weights: levels(
      FAMILY_NAMES.map((_, level) => FAMILY_NAMES.map((_, i) => i === level ? 1 : 0)),
      "which kind of integrand is asked for",
    ),
  },
  validate(config) {
    const { problem_types, problem_type_weights, operators, symbols } = config;
    const errors = [
      ...mustNotBeEmpty("problem_types", problem_types),
      ...mustNotBeEmpty("operators", operators),
      ...mustNotBeEmpty("symbols", [...symbols]),
    ];
    if (problem_type_weights.length !== problem_types.length) {
      errors.push(
        `problem_type_weights: must have one weight for each of the ${problem_types.length} ` +
          `problem_types, found ${problem_type_weights.length}`,
      );
    } else if (!problem_type_weights.some((weight) => weight > 0)) {
      errors.push("problem_type_weights: one must be above 0, found only 0");
    }
    for (
      const [low, high] of [["linear_lower_bound", "linear_upper_bound"], [
        "outer_constant_min",
        "outer_constant_max",
      ]] as const
    ) {
      if (config[low] > config[high]) {
        errors.push(`${low}: must be ≤ ${high}, found ${config[low]} and ${config[high]}`);
      }
    }
    return errors;
  },
  generate(random, config) {
    const problem_type = random.weighted(config.problem_types, config.problem_type_weights);
    const variable = random.choice([...config.symbols]);
    const { integrand, integral } = drawProblem(random, config, problem_type, variable);
    return {
      question: integralQuestion(integrand, variable),
      answer: `${integral} + C`,
      metadata: { integrand, problem_type, variable },
    };
  },
  score: scoreIntegral,
});
