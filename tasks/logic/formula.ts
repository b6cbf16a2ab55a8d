/**
 * Propositional formulas over ¬ ∧ ∨ → ↔ as truth tables: one bit for every assignment of up to
 * {@link MOST_VARIABLES} variables, 32 assignments to a word. Reading is a shunting yard, so nesting costs no
 * call stack; operators bind in the order above, equal ones from left to right.
 */
import { isSpace } from "../python_text.ts";

export type Table = Uint32Array;

/** 2^12 assignments: a formula of 100 000 characters is still evaluated within some ten milliseconds. */
export const MOST_VARIABLES = 12;

/** A word holds all assignments of five variables; their columns within it. */
const WITHIN_WORD = [0xaaaaaaaa, 0xcccccccc, 0xf0f0f0f0, 0xff00ff00, 0xffff0000];
const BINDING: Record<string, number> = { "¬": 5, "∧": 4, "∨": 3, "→": 2, "↔": 1 };

/** The table of each of `count` variables, in the order of their names. */
export function variableTables(count: number): Table[] {
  const words = 2 ** Math.max(0, count - WITHIN_WORD.length);
  return Array.from({ length: count }, (_, variable) =>
    Uint32Array.from(
      { length: words },
      (_, word) => WITHIN_WORD[variable] ?? (word >>> (variable - 5) & 1 ? 0xffffffff : 0),
    ));
}

/** The table of a formula; null when the text is none, or has other variables. */
export function formulaTable(text: string, variables: ReadonlyMap<string, Table>): Table | null {
  const operands: Table[] = [], operators: string[] = [];
  let wantsOperand = true;
  for (const token of text) {
    const variable = variables.get(token), binding = BINDING[token];
    if (variable !== undefined || token === "(" || token === "¬") {
      if (!wantsOperand) return null;
      if (variable === undefined) operators.push(token);
      else operands.push(variable.slice());
      wantsOperand = variable === undefined;
    } else if (token === ")" || binding !== undefined) {
      if (wantsOperand) return null;
      while (operators.length > 0 && (BINDING[operators.at(-1)!] ?? 0) >= (binding ?? 1)) {
        applyLast(operators, operands);
      }
      if (binding !== undefined) operators.push(token);
      else if (operators.pop() === undefined) return null;
      wantsOperand = binding !== undefined;
    } else if (!isSpace(token)) return null;
  }
  if (wantsOperand) return null;
  while (operators.length > 0) {
    if (operators.at(-1) === "(") return null;
    applyLast(operators, operands);
  }
  return operands[0]!;
}

function applyLast(operators: string[], operands: Table[]): void {
  const operator = operators.pop()!;
  if (operator === "¬") negate(operands.at(-1)!);
  else {
    const right = operands.pop()!;
    combine(operator, operands.at(-1)!, right);
  }
}

/** In place. */
export function negate(table: Table): void {
  for (let i = 0; i < table.length; i++) table[i] = ~table[i]!;
}

/** `left ∘ right` in place of `left`. */
export function combine(operator: string, left: Table, right: Table): void {
  for (let i = 0; i < left.length; i++) {
    const a = left[i]!, b = right[i]!;
    left[i] = operator === "∧"
      ? a & b
      : operator === "∨"
      ? a | b
      : operator === "→"
      ? ~a | b
      : ~(a ^ b);
  }
}

/** Whether `conclusion` is true wherever `premises` are. */
export function entails(premises: Table, conclusion: Table): boolean {
  return premises.every((word, i) => (word & ~conclusion[i]!) === 0);
}

export function isTautology(table: Table): boolean {
  return table.every((word) => word === 0xffffffff);
}
