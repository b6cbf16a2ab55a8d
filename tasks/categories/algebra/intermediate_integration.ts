/** Indefinite integrals that need a substitution or integration by parts. */
import type { RandomStream } from "../../../core/philox.ts";
import { choices, type ConfigOf, defineTask, int, sizes, weights } from "../../define.ts";
import { fraction, type Part, powerText, sumText } from "./formula_text.ts";
import { INTEGRAL_SCORING, integralQuestion, scoreIntegral } from "./integral.ts";

/**
 * Eight families of integrands with their antiderivatives, drawn by formula: powers of linear
 * terms, substitution, and integration by parts, applied once or repeatedly.
 */

interface Problem {
  integrand: string;
  /** The antiderivative, without the constant. */
  integral: string;
}

type Family = (draw: Draw, k: number, x: string) => Problem;

/** Draws numbers within the limits of the parameters. */
class Draw {
  constructor(readonly random: RandomStream, readonly limits: Config) {}

  #signed(size: number): number {
    return this.random.choice(this.limits.operators) === "-" ? -size : size;
  }

  outer(): number {
    const { outer_constant_min, outer_constant_max } = this.limits;
    return this.#signed(this.random.int(outer_constant_min, outer_constant_max));
  }

  /** A coefficient of an inner function. */
  inner(): number {
    const { linear_lower_bound, linear_upper_bound } = this.limits;
    return this.#signed(this.random.int(linear_lower_bound, linear_upper_bound));
  }

  linear(x: string): { slope: number; text: string } {
    const slope = this.inner();
    return { slope, text: polynomial(x, [slope, this.inner()]) };
  }
}

/** The polynomial with these coefficients, from the highest power down. */
function polynomial(x: string, coefficients: readonly number[]): string {
  const degree = coefficients.length - 1;
  return sumText(coefficients.map((c, i) => fraction(c, 1, powerText(x, degree - i))));
}

/** n/d · factor as text. */
function fractionText(n: number, d: number, factor: string): string {
  return sumText([fraction(n, d, factor)]);
}

function linear(draw: Draw, k: number, x: string): Problem {
  const { slope, text } = draw.linear(x);
  const n = draw.random.int(draw.limits.min_linear_degree, draw.limits.max_linear_degree);
  return {
    integrand: fractionText(k, 1, powerText(`(${text})`, n)),
    integral: fractionText(k, slope * (n + 1), powerText(`(${text})`, n + 1)),
  };
}

function radical(draw: Draw, k: number, x: string): Problem {
  const { slope, text } = draw.linear(x);
  return {
    integrand: fractionText(k * slope, 1, `sqrt(${text})`),
    integral: fractionText(2 * k, 3, `(${text})**(3/2)`),
  };
}

function logInverseTrig({ random }: Draw, k: number, x: string): Problem {
  const kind = random.choice(["log", "asin", "atan"]);
  if (kind === "log") {
    const power = random.chance(0.8) ? 1 : random.int(2, 3);
    const log = `log(${powerText(x, power)})`;
    return {
      integrand: fractionText(k, 1, log),
      integral: sumText([fraction(k, 1, `${x}*${log}`), fraction(-k * power, 1, x)]),
    };
  }
  const c = random.int(1, 3), square = fractionText(c * c, 1, `${x}**2`);
  const call = `${kind}(${fractionText(c, 1, x)})`;
  const rest = kind === "asin"
    ? fraction(k, c, `sqrt(1 - ${square})`)
    : fraction(-k, 2 * c, `log(${square} + 1)`);
  return {
    integrand: fractionText(k, 1, call),
    integral: sumText([fraction(k, 1, `${x}*${call}`), rest]),
  };
}

function trigonometric(draw: Draw, k: number, x: string): Problem {
  const { slope, text } = draw.linear(x);
  const power = draw.random.int(1, 4), sine = draw.random.chance(0.5);
  const base = sine ? `sin(${text})` : `cos(${text})`;
  const other = sine ? `cos(${text})` : `sin(${text})`;
  const factors = [powerText(base, power), other];
  return {
    integrand: fractionText(
      sine ? k * slope : -k * slope,
      1,
      (sine ? factors : factors.reverse()).join("*"),
    ),
    integral: fractionText(k, power + 1, powerText(base, power + 1)),
  };
}

/**
 * ∫ k·x^d·g by parts until the power is gone: Σ (−1)^j · d!/(d−j)! · x^(d−j) · G, where G is the
 * (j+1)-th integral of g.
 */
function byParts(x: string, k: number, d: number, kind: "exp" | "sin" | "cos", c: number): Problem {
  const argument = fractionText(c, 1, x), power = powerText(x, d);
  const parts: Part[] = [];
  let factor = k;
  for (let j = 0; j <= d; j++) {
    const { sign, name } = repeatedIntegral(kind, j + 1);
    const left = powerText(x, d - j), call = `${name}(${argument})`;
    const product = left === "" ? call : `${left}*${call}`;
    parts.push(fraction((j % 2 === 0 ? sign : -sign) * factor, c ** (j + 1), product));
    factor *= d - j;
  }
  return {
    integrand: fractionText(k, 1, `${power}*${kind}(${argument})`),
    integral: sumText(parts),
  };
}

/** The n-th integral of exp, sin or cos, without the factors that an inner constant gives. */
function repeatedIntegral(kind: "exp" | "sin" | "cos", n: number): { sign: number; name: string } {
  if (kind === "exp") return { sign: 1, name: "exp" };
  // Each integration turns sin → −cos → −sin → cos → sin.
  const cycle = ["sin", "-cos", "-sin", "cos"];
  const found = cycle[(cycle.indexOf(kind) + n) % 4]!;
  return found.startsWith("-") ? { sign: -1, name: found.slice(1) } : { sign: 1, name: found };
}

function polynomialExpTrig({ random, limits }: Draw, k: number, x: string): Problem {
  const d = random.int(limits.min_poly_degree, limits.max_poly_degree);
  const kind = random.choice(["exp", "sin", "cos"] as const);
  return byParts(x, k, d, kind, kind === "exp" ? 1 : random.int(1, 3));
}

function repeatedParts({ random, limits }: Draw, k: number, x: string): Problem {
  const d = random.int(3, Math.max(3, limits.max_poly_degree));
  return byParts(x, k, d, random.choice(["sin", "cos", "exp"] as const), 1);
}

function exponential(draw: Draw, k: number, x: string): Problem {
  if (draw.random.chance(0.5)) {
    const { slope, text } = draw.linear(x);
    return {
      integrand: fractionText(k * slope, 1, `exp(${text})`),
      integral: fractionText(k, 1, `exp(${text})`),
    };
  }
  const [a, b, c] = [draw.inner(), draw.inner(), draw.inner()];
  const call = `exp(${polynomial(x, [a, b, c])})`;
  return {
    integrand: `(${polynomial(x, [2 * k * a, k * b])})*${call}`,
    integral: fractionText(k, 1, call),
  };
}

function cyclic({ random }: Draw, k: number, x: string): Problem {
  const sine = `sin(${x})`, cosine = `cos(${x})`, exp = `exp(${x})`;
  switch (random.below(3)) {
    case 0:
      return {
        integrand: fractionText(k, 1, `${exp}*${sine}`),
        integral: sumText([fraction(k, 2, `${exp}*${sine}`), fraction(-k, 2, `${exp}*${cosine}`)]),
      };
    case 1:
      return {
        integrand: fractionText(k, 1, `${exp}*${cosine}`),
        integral: sumText([fraction(k, 2, `${exp}*${sine}`), fraction(k, 2, `${exp}*${cosine}`)]),
      };
    default:
      return {
        integrand: fractionText(k, 1, `${sine}*${cosine}`),
        integral: fractionText(k, 2, `${sine}**2`),
      };
  }
}

const FAMILIES: Record<string, Family> = {
  linear,
  radical,
  log_inverse_trig: logInverseTrig,
  trigonometric,
  polynomial_exp_trig: polynomialExpTrig,
  exponential,
  cyclic,
  repeated_parts: repeatedParts,
};

const FAMILY_NAMES: readonly string[] = Object.keys(FAMILIES);

function drawProblem(
  random: RandomStream,
  limits: Config,
  family: string,
  variable: string,
): Problem {
  const draw = new Draw(random, limits);
  return FAMILIES[family]!(draw, draw.outer(), variable);
}

/** Levels at which one kind alone is asked for. */
const UNITS = FAMILY_NAMES.map((_, level) => FAMILY_NAMES.map((_, i) => i === level ? 1 : 0));
const EQUAL = FAMILY_NAMES.map(() => 1 / FAMILY_NAMES.length);

const params = {
  problem_types: choices([...FAMILY_NAMES], "kinds of integrands", FAMILY_NAMES),
  problem_type_weights: weights(EQUAL, "weight of each kind", "problem_types", UNITS),
  linear_lower_bound: int(1, "smallest coefficient of an inner function", { min: 1 }),
  linear_upper_bound: int(10, "largest coefficient of an inner function", { max: 400 }),
  linear_degree: sizes([2, 4], "power of a linear term", { min: 1, max: 50 }),
  outer_constant_min: int(1, "smallest factor of an integrand", { min: 1 }),
  outer_constant_max: int(3, "largest factor of an integrand", { max: 1000 }),
  poly_degree: sizes([1, 3], "power beside sin, cos or exp", { min: 1, max: 12 }),
  // A string counts as the list of its characters.
  symbols: {
    ...choices([], "variables to draw from", ["x", "X"]),
    default: "x" as string | string[],
  },
  operators: choices(["+", "-"], "signs of numbers", ["+", "-"]),
};

type Config = ConfigOf<typeof params>;

export default defineTask({
  description: "Find an indefinite integral by substitution or by parts.",
  scoring: INTEGRAL_SCORING,
  params,
  rules: {
    "linear_lower_bound: must be ≤ linear_upper_bound": (c) =>
      c.linear_lower_bound <= c.linear_upper_bound,
    "outer_constant_min: must be ≤ outer_constant_max": (c) =>
      c.outer_constant_min <= c.outer_constant_max,
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
