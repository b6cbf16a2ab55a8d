/**
 * Reads answers that are arithmetic expressions with integer literals, + − * /, brackets and signs,
 * and computes them exactly. Powers, decimals, names and other operators are refused.
 */
import { calculated, type Fraction, parseFormula, run } from "../../python/formulas.ts";
import { strip } from "../../python/text.ts";

/** The value, and the literals in order. */
export interface IntegerExpression extends Fraction {
  literals: bigint[];
}

/**
 * Longer texts are not read. An answer needs a few dozen characters, and fractions grow with the
 * text, which has at most half as many brackets around a number.
 */
const MAX_LENGTH = 2000;

/** Returns null when the text is no such expression or divides by zero. */
export function readIntegerExpression(answer: string): IntegerExpression | null {
  if (answer.length > MAX_LENGTH) return null;
  let open = 0;
  // As in Python, an open bracket goes on in the next line.
  const text = strip(answer).replace(/[()\n\r\f]/g, (sign) => {
    if (sign === "(") open++;
    else if (sign === ")") open--;
    else if (open > 0) return " ";
    return sign;
  });
  if (!/^[-+*/()0-9 \t]+$/.test(text)) return null;
  const program = parseFormula(text, MAX_LENGTH / 2), literals: bigint[] = [];
  const value = program && run<Fraction>(program, {
    number(digits) {
      literals.push(BigInt(digits));
      return { numerator: BigInt(digits), denominator: 1n };
    },
    name: () => null,
    call: () => null,
    operator: calculated,
    negate: ({ numerator, denominator }) => ({ numerator: -numerator, denominator }),
  });
  return value && { ...value, literals };
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
