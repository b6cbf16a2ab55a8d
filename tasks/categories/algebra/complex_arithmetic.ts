/** One operation with two complex numbers whose parts are integers; exact at any size. */
import { choices, defineTask, type RandomStream, sizes, sumToOne, weights } from "../../define.ts";
import { strip } from "../../python/text.ts";

type Complex = readonly [re: bigint, im: bigint];

const VERBS: Record<string, string> = {
  "+": "Add",
  "-": "Subtract",
  "*": "Multiply",
  "/": "Divide",
};
const LEVELS = [10, 100, 10_000, 100_000_000];

export default defineTask({
  description: "Add, subtract, multiply or divide two complex numbers.",
  scoring: "min(1, e^-d), where d is the distance to the right number; 0 for any other text.",
  params: {
    real: sizes([-10, 10], "real part", {
      min: -1e9,
      max: 1e9,
      each: [LEVELS.map((n) => -n), LEVELS],
    }),
    imag: sizes([-10, 10], "imaginary part", {
      min: -1e9,
      max: 1e9,
      each: [LEVELS.map((n) => -n), LEVELS],
    }),
    operations: choices(["+", "-", "*", "/"], "operations to draw from", ["+", "-", "*", "/"]),
    operations_weights: weights([0.4, 0.4, 0.1, 0.1], "probability of each", "operations", [
      [0.4, 0.4, 0.1, 0.1],
      [0.25, 0.25, 0.25, 0.25],
      [0.2, 0.2, 0.3, 0.3],
      [0.1, 0.1, 0.4, 0.4],
    ]),
  },
  rules: {
    "operations_weights: must sum to 1": (c) => sumToOne(c.operations_weights),
    "max_real: must be above 0 for divisions (or max_imag)": (c) =>
      !c.operations.includes("/") ||
      [c.min_real, c.max_real, c.min_imag, c.max_imag].some((end) => end !== 0),
  },
  generate(random, config) {
    const operation = random.weighted(config.operations, config.operations_weights);
    let a = draw(random, config), b = draw(random, config), result: Complex;
    if (operation === "/") {
      while (b[0] === 0n && b[1] === 0n) b = draw(random, config);
      result = a;
      a = times(a, b);
    } else if (operation === "*") result = times(a, b);
    else result = operation === "+" ? [a[0] + b[0], a[1] + b[1]] : [a[0] - b[0], a[1] - b[1]];
    return {
      question: `${VERBS[operation]} these complex numbers: (${complexText(a)}) ${operation} ` +
        `(${complexText(b)}). Answer with the result only, the real part first, such as 3.0 - ` +
        "2.0i, 5.00 or -4.00i.",
      answer: complexText(result),
      metadata: { num1: a.map(Number), num2: b.map(Number), operation, result: result.map(Number) },
    };
  },
  score(answer, entry) {
    const result = entry.metadata?.["result"];
    if (!Array.isArray(result) || answer.length > MAX_LENGTH) return 0;
    const given = parse(answer);
    if (given === null) return 0;
    const distance = Math.hypot(given[0] - Number(result[0]), given[1] - Number(result[1]));
    return Number.isNaN(distance) ? 0 : Math.min(1, Math.exp(-distance));
  },
});

function draw(
  random: RandomStream,
  { min_real, max_real, min_imag, max_imag }: Record<
    "min_real" | "max_real" | "min_imag" | "max_imag",
    number
  >,
): Complex {
  return [BigInt(random.int(min_real, max_real)), BigInt(random.int(min_imag, max_imag))];
}

function times([a, b]: Complex, [c, d]: Complex): Complex {
  return [a * c - b * d, a * d + b * c];
}

/** Formats as `5.00`, `-3.00i` or `-7.0 + 1.0i`. */
function complexText([re, im]: Complex): string {
  if (im === 0n) return `${re}.00`;
  if (re === 0n) return `${im}.00i`;
  return `${re}.0 ${im < 0n ? "-" : "+"} ${im < 0n ? -im : im}.0i`;
}

const NUMBER = String.raw`(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?`;
const REAL = new RegExp(`^[+-]?${NUMBER}$`);
const IMAGINARY = new RegExp(`^([+-]?)(${NUMBER})?[ij]$`);
const BOTH = new RegExp(`^([+-]?${NUMBER})([+-])(${NUMBER})?[ij]$`);
/** In characters; no number that could be close to the answer is longer. */
const MAX_LENGTH = 2000;

function parse(answer: string): [re: number, im: number] | null {
  let text = answer.replaceAll(" ", "").toLowerCase();
  while (text.startsWith("(") && text.endsWith(")")) text = text.slice(1, -1);
  const real = strip(text);
  if (REAL.test(real)) return [Number(real), 0];
  const imaginary = IMAGINARY.exec(text);
  if (imaginary !== null) return [0, signed(imaginary[1]!, imaginary[2])];
  const both = BOTH.exec(text.trimStart());
  return both && [Number(both[1]), signed(both[2]!, both[3])];
}

function signed(sign: string, size = "1"): number {
  return sign === "-" ? -Number(size) : Number(size);
}
