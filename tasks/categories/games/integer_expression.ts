/**
 * Reads answers that are arithmetic expressions with integer literals, + − * /, brackets and signs.
 * It uses Dijkstra's shunting-yard algorithm, so nesting needs no call stack, and computes exact
 * fractions. Powers, decimals, names and other operators are refused.
 */
import { strip } from "../../python/text.ts";

/**
 * The value as numerator / denominator (not reduced, denominator ≠ 0), and the literals in order.
 */
export interface IntegerExpression {
  numerator: bigint;
  denominator: bigint;
  literals: bigint[];
}

/**
 * Longer texts are not read. An answer needs a few dozen characters, and fractions grow with the
 * text.
 */
const MAX_LENGTH = 2000;

const BINDING: Record<string, number> = { "+": 1, "-": 1, "*": 2, "/": 2, "negate": 3, "keep": 3 };

type Fraction = [numerator: bigint, denominator: bigint];

/** Returns null when the text is no such expression or divides by zero. */
export function readIntegerExpression(answer: string): IntegerExpression | null {
  if (answer.length > MAX_LENGTH) return null;
  const tokens = strip(answer).match(/[0-9]+|[-+*/()]|[^ \t]/g) ?? [];
  const literals: bigint[] = [], values: Fraction[] = [], pending: string[] = [];
  const reduce = () => apply(pending.pop()!, values);
  let wantsOperand = true;
  for (const token of tokens) {
    // As in Python, an open bracket goes on in the next line.
    if (/[\n\r\f]/.test(token) && pending.includes("(")) continue;
    const isNumber = /^(?:0+|[1-9][0-9]*)$/.test(token);
    if (wantsOperand) {
      if (isNumber) {
        literals.push(BigInt(token));
        values.push([BigInt(token), 1n]);
        wantsOperand = false;
      } else if (token === "(") pending.push(token);
      else if (token === "-") pending.push("negate");
      else if (token === "+") pending.push("keep");
      else return null;
    } else if (token === ")") {
      while (pending.length > 0 && pending.at(-1) !== "(") if (!reduce()) return null;
      if (pending.pop() === undefined) return null;
    } else {
      const binding = BINDING[token];
      if (binding === undefined) return null;
      while ((BINDING[pending.at(-1) ?? ""] ?? 0) >= binding) if (!reduce()) return null;
      pending.push(token);
      wantsOperand = true;
    }
  }
  if (wantsOperand) return null;
  while (pending.length > 0) if (pending.at(-1) === "(" || !reduce()) return null;
  const [numerator, denominator] = values[0]!;
  return { numerator, denominator, literals };
}

/**
 * Replaces the operands on top of the stack by the result. Returns false for a division by zero.
 */
function apply(operator: string, values: Fraction[]): boolean {
  const [c, d] = values.pop()!;
  if (operator === "negate" || operator === "keep") {
    values.push([operator === "keep" ? c : -c, d]);
    return true;
  }
  const [a, b] = values.pop()!;
  if (operator === "/") {
    if (c === 0n) return false;
    values.push([a * d, b * c]);
  } else if (operator === "*") values.push([a * c, b * d]);
  else values.push([operator === "+" ? a * d + c * b : a * d - c * b, b * d]);
  return true;
}

/** Whether the literals are exactly the given numbers, in any order. */
export function usesExactly(expression: IntegerExpression, numbers: unknown): boolean {
  if (!Array.isArray(numbers) || numbers.length !== expression.literals.length) return false;
  const given = numbers.map(String).sort();
  return expression.literals.map(String).sort().every((literal, i) => literal === given[i]);
}

/** Whether the value is exactly the integer `target`. */
export function equalsInteger(expression: IntegerExpression, target: unknown): boolean {
  return Number.isSafeInteger(target) &&
    expression.numerator === BigInt(target as number) * expression.denominator;
}
