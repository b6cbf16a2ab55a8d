/**
 * Reach a target with all of the given numbers. The example expression is computed from left to
 * right, and each step stays within the values from which the remaining numbers can still reach the
 * range of targets. Some ranges cannot be reached (three ones never make 100); then the nearest
 * positive value that was found becomes the target.
 */
import { RgxError } from "../../../core/errors.ts";
import type { RandomStream } from "../../../core/philox.ts";
import { bool, choices, type ConfigOf, counts, defineTask, sizes } from "../../define.ts";
import { strip } from "../../python/text.ts";
import { equalsInteger, readIntegerExpression, usesExactly } from "./integer_expression.ts";

const OPERATORS = ["+", "-", "*", "/"];
/**
 * Maximum number of draws: of a number before the expression is restarted, of expressions, and of
 * expressions with any value.
 */
const NUMBER_TRIES = 30, EXPRESSION_TRIES = 500, NEAREST_TRIES = 50;

const params = {
  numbers: counts([4, 6], "numbers", { min: 2, max: 50, spans: [3, 6, 9, 12, 15] }),
  target: sizes([100, 999], "target", {
    min: 1,
    max: 1_000_000_000,
    spans: [100, 500, 1000, 5000, 10000],
  }),
  value: sizes([1, 100], "number", { min: 1, max: 1_000_000, spans: [1, 100, 200, 300] }),
  operators: choices(OPERATORS, "operators of the example", OPERATORS),
  shuffle: bool(true, "list the numbers in random order, not in that of the example"),
};

type Config = ConfigOf<typeof params>;

export default defineTask({
  description: "Combine numbers with + − × ÷ to a target.",
  scoring:
    "An expression of integers, + - * / and brackets (one full stop may follow a number at its " +
    "end): 1 when it uses exactly the given numbers and its value is exactly the target, else " +
    "0.05; anything else and divisions by zero 0.01.",
  params,
  generate(random, config) {
    const { numbers, target, expression } = drawExpression(random, config);
    if (config.shuffle) random.shuffle(numbers);
    return {
      question: `Use all of the numbers ${numbers.join(", ")} to make ${target}. Each of them ` +
        "must be used exactly once (a number that is listed twice, twice); you may add (+), " +
        "subtract (-), multiply (*) and divide (/) and set brackets.\nAnswer with the expression " +
        "alone, for example (3 + 4) * 10 - 5: no equals sign, no target, no other text.",
      answer: expression,
      metadata: { numbers, target, expression },
    };
  },
  score(answer, entry) {
    const { numbers, target } = entry.metadata ?? {};
    // Python reads "29." as a number, and refuses ").".
    const expression = readIntegerExpression(strip(answer).replace(/(?<=[0-9])\.$/, ""));
    if (expression === null) return 0.01;
    return usesExactly(expression, numbers) && equalsInteger(expression, target) ? 1 : 0.05;
  },
});

type Range = readonly [low: number, high: number];

interface Drawn {
  numbers: number[];
  target: number;
  expression: string;
}

function drawExpression(random: RandomStream, config: Config): Drawn {
  const count = random.int(config.min_numbers, config.max_numbers);
  const reach = reachableFrom(config, count);
  for (let attempt = 0; attempt < EXPRESSION_TRIES; attempt++) {
    const drawn = attemptExpression(random, config, count, reach);
    if (drawn !== null) return drawn;
  }
  const anywhere = reach.map((): Range => [1, Number.MAX_SAFE_INTEGER]);
  let nearest: Drawn | null = null, bestDistance = Infinity;
  for (let attempt = 0; attempt < NEAREST_TRIES; attempt++) {
    const drawn = attemptExpression(random, config, count, anywhere);
    if (drawn === null) continue;
    const away = Math.max(config.min_target - drawn.target, drawn.target - config.max_target);
    if (away < bestDistance) [nearest, bestDistance] = [drawn, away];
  }
  if (nearest !== null) return nearest;
  throw new RgxError(
    `task countdown: found no expression of ${count} numbers from ${config.min_value} to ` +
      `${config.max_value} with ${config.operators.join(" ")}`,
    { advice: "allow more operators or a wider range of numbers" },
  );
}

/**
 * For each number of remaining numbers, the range from which sums (or else products) can reach a
 * target.
 */
function reachableFrom(config: Config, count: number): Range[] {
  const { operators, max_value: maximum } = config;
  const reach: Range[] = [[config.min_target, config.max_target]];
  for (let left = 1; left < count; left++) {
    const [low, high] = reach.at(-1)!;
    reach.push([
      operators.includes("+") ? low - maximum : operators.includes("*") ? low / maximum : low,
      operators.includes("-") ? high + maximum : operators.includes("/") ? high * maximum : high,
    ]);
  }
  return reach;
}

function attemptExpression(
  random: RandomStream,
  config: Config,
  count: number,
  reach: readonly Range[],
): Drawn | null {
  let value = random.int(config.min_value, config.max_value), isSum = false;
  let expression = String(value);
  const numbers = [value];
  while (numbers.length < count) {
    const [low, high] = reach[count - numbers.length - 1]!;
    let tries = 0;
    for (;; tries++) {
      if (tries === NUMBER_TRIES) return null;
      const number = random.int(config.min_value, config.max_value);
      const operator = random.choice(config.operators);
      if (operator === "/" && value % number !== 0) continue;
      const next = apply(operator, value, number);
      if (next < low || next > high) continue;
      value = next;
      numbers.push(number);
      if (operator === "+" || operator === "-") {
        expression += ` ${operator} ${number}`;
        isSum = true;
      } else {
        expression = `${isSum ? `(${expression})` : expression}${operator}${number}`;
        isSum = false;
      }
      break;
    }
  }
  return { numbers, target: value, expression };
}

function apply(operator: string, a: number, b: number): number {
  if (operator === "+") return a + b;
  if (operator === "-") return a - b;
  return operator === "*" ? a * b : a / b;
}
