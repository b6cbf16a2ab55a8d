/**
 * Make 24 from four numbers. Numbers are drawn until there is an expression for them. The search
 * combines two values at a time in all ways, in random order, with exact fractions. For each set of
 * operators, the solvable numbers are computed once. A range without any, like 9 to 10, is widened
 * by one at both ends until it has some.
 */
import { RgxError } from "../../../core/errors.ts";
import { choices, defineTask, type RandomStream, sizes } from "../../define.ts";
import { strip } from "../../python/text.ts";
import { equalsInteger, readIntegerExpression, usesExactly } from "./integer_expression.ts";
import { once } from "../../once.ts";

const OPERATORS = ["+", "-", "*", "/"];
const MAX_NUMBER = 10;

export default defineTask({
  description: "Make 24 with four numbers.",
  scoring: "An expression of integers, + - * / and brackets (one full stop may follow) that uses " +
    "exactly the given numbers and has exactly the value 24: 1; anything else 0.01.",
  params: {
    operators: choices(OPERATORS, "operators that the puzzle allows", OPERATORS),
    value: sizes([1, 10], "number", { min: 1, max: MAX_NUMBER, spans: [1, 5, 6, 7, 8, 9, 10] }),
  },
  generate(random, { operators, min_value, max_value }) {
    const numbers = drawNumbers(random, operators, min_value, max_value);
    const expression = make24(random, numbers, operators)!;
    return {
      question: `Make 24 from the numbers ${numbers.join(", ")}. Use each of the four exactly ` +
        "once (a number that is listed twice, twice). Allowed are brackets and the operators " +
        `${operators.join(" ")}, where * multiplies and / divides.\nAnswer with the expression ` +
        "alone, for example (1 + 3) * (2 + 4): no equals sign and no other text.",
      answer: expression,
      metadata: { numbers },
    };
  },
  score(answer, entry) {
    const expression = readIntegerExpression(strip(answer).replace(/\.$/, ""));
    if (expression === null || !usesExactly(expression, entry.metadata?.["numbers"])) return 0.01;
    return equalsInteger(expression, 24) ? 1 : 0.01;
  },
});

/** For each set of operators, the sorted numbers from 1 to 10 that have an expression, as keys. */
const solvableWith = once((...operators: string[]) => {
  const keys = new Set<number>();
  for (let a = 1; a <= MAX_NUMBER; a++) {
    for (let b = a; b <= MAX_NUMBER; b++) {
      for (let c = b; c <= MAX_NUMBER; c++) {
        for (let d = c; d <= MAX_NUMBER; d++) {
          if (search([a, b, c, d].map(single), operators) !== null) keys.add(keyOf([a, b, c, d]));
        }
      }
    }
  }
  return keys;
});

function keyOf(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b).reduce((key, number) => key * 16 + number, 0);
}

function drawNumbers(
  random: RandomStream,
  operators: readonly string[],
  low: number,
  high: number,
): number[] {
  const keys = solvableWith(...OPERATORS.filter((operator) => operators.includes(operator)));
  const isInside = (key: number) => {
    for (let rest = key; rest > 0; rest >>= 4) {
      if ((rest & 15) < low || (rest & 15) > high) return false;
    }
    return true;
  };
  if (keys.size === 0) {
    throw new RgxError(
      `task puzzle24: no four numbers from 1 to ${MAX_NUMBER} make 24 with only ` +
        `${operators.join(" ")}`,
      { advice: "allow more operators" },
    );
  }
  while (!keys.values().some(isInside)) {
    low = Math.max(1, low - 1);
    high = Math.min(MAX_NUMBER, high + 1);
  }
  for (;;) {
    const numbers = Array.from({ length: 4 }, () => random.int(low, high));
    if (keys.has(keyOf(numbers))) return numbers;
  }
}

/**
 * Part of an expression: its fraction, its text, and the precedence of its top operator (3: a
 * number).
 */
interface Part {
  numerator: number;
  denominator: number;
  text: string;
  binding: number;
}

function make24(random: RandomStream, numbers: number[], operators: string[]): string | null {
  return search(random.shuffle(numbers.slice()).map(single), random.shuffle(operators.slice()));
}

function single(number: number): Part {
  return { numerator: number, denominator: 1, text: String(number), binding: 3 };
}

function search(parts: readonly Part[], operators: readonly string[]): string | null {
  if (parts.length === 1) {
    const [{ numerator, denominator, text }] = parts as [Part];
    return numerator === 24 * denominator ? text : null;
  }
  for (let i = 0; i < parts.length; i++) {
    for (let j = 0; j < parts.length; j++) {
      if (i === j) continue;
      const rest = parts.filter((_, k) => k !== i && k !== j);
      for (const operator of operators) {
        if (i > j && (operator === "+" || operator === "*")) continue;
        const joined = join(operator, parts[i]!, parts[j]!);
        const found = joined && search([joined, ...rest], operators);
        if (found) return found;
      }
    }
  }
  return null;
}

function join(operator: string, left: Part, right: Part): Part | null {
  const { numerator: a, denominator: b } = left, { numerator: c, denominator: d } = right;
  if (operator === "/" && c === 0) return null;
  const isSum = operator === "+" || operator === "-", binding = isSum ? 1 : 2;
  const l = left.binding < binding ? `(${left.text})` : left.text;
  const needsBrackets = right.binding < binding ||
    (right.binding === binding && (operator === "-" || operator === "/"));
  const r = needsBrackets ? `(${right.text})` : right.text;
  const text = isSum ? `${l} ${operator} ${r}` : `${l}${operator}${r}`;
  if (operator === "*") return { numerator: a * c, denominator: b * d, text, binding };
  if (operator === "/") return { numerator: a * d, denominator: b * c, text, binding };
  const numerator = operator === "+" ? a * d + c * b : a * d - c * b;
  return { numerator, denominator: b * d, text, binding };
}
