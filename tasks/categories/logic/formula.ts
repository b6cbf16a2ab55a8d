/**
 * Propositional formulas over ¬ ∧ ∨ → ↔ as truth tables, with one bit for each assignment of up to
 * {@link MAX_VARIABLES} variables and 32 assignments in a word. The parser uses the shunting-yard
 * algorithm, so nesting needs no call stack. Operators bind in the order above; equal ones
 * associate to the left.
 */
import { isSpaceCode } from "../../python/text.ts";

export type Table = Uint32Array;

/** 2^12 assignments: a formula of 100 000 characters is evaluated within about ten milliseconds. */
export const MAX_VARIABLES = 12;

/** A word holds all assignments of five variables. These are the values of the five within it. */
const WITHIN_WORD = [0xaaaaaaaa, 0xcccccccc, 0xf0f0f0f0, 0xff00ff00, 0xffff0000];
/** From the weakest to the strongest. */
const OPERATORS = [..."↔→∨∧¬"];
const BINDING = new Map(OPERATORS.map((sign, i) => [sign.charCodeAt(0), i + 1]));
const SIGN = new Map(OPERATORS.map((sign) => [sign.charCodeAt(0), sign]));
const OPEN = 0x28, CLOSE = 0x29, NOT = 0xac;

const tablesOf = new Map<number, readonly Table[]>();

/**
 * The tables of `count` variables, in the order of their names. They are shared; do not modify
 * them.
 */
export function variableTables(count: number): readonly Table[] {
  let tables = tablesOf.get(count);
  if (tables === undefined) {
    const words = 2 ** Math.max(0, count - WITHIN_WORD.length);
    tables = Array.from({ length: count }, (_, variable) =>
      Uint32Array.from(
        { length: words },
        (_, word) => WITHIN_WORD[variable] ?? (word >>> (variable - 5) & 1 ? 0xffffffff : 0),
      ));
    tablesOf.set(count, tables);
  }
  return tables;
}

/** The table of a formula; null when the text is no formula or contains other variables. */
export function formulaTable(text: string, variables: ReadonlyMap<string, Table>): Table | null {
  // Codes instead of characters, because non-Latin characters would be allocated each time.
  const byCode = new Map([...variables].map(([name, table]) => [name.codePointAt(0), table]));
  const operands: Table[] = [], operators: number[] = [];
  /** Tables of combined operands, kept for reuse, because a long text needs many. */
  const spare: Table[] = [];
  let wantsOperand = true;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    const variable = byCode.get(code), binding = BINDING.get(code) ?? 0;
    if (variable !== undefined || code === OPEN || code === NOT) {
      if (!wantsOperand) return null;
      if (variable === undefined) operators.push(code);
      else {
        const table = spare.pop() ?? new Uint32Array(variable.length);
        table.set(variable);
        operands.push(table);
      }
      wantsOperand = variable === undefined;
    } else if (code === CLOSE || binding > 0) {
      if (wantsOperand) return null;
      while (
        operators.length > 0 && (BINDING.get(operators.at(-1)!) ?? 0) >= Math.max(1, binding)
      ) {
        applyLast();
      }
      if (binding > 0) operators.push(code);
      else if (operators.pop() === undefined) return null;
      wantsOperand = binding > 0;
    } else if (!isSpaceCode(code)) return null;
  }
  if (wantsOperand) return null;
  while (operators.length > 0) {
    if (operators.at(-1) === OPEN) return null;
    applyLast();
  }
  return operands[0]!;

  function applyLast(): void {
    const code = operators.pop()!;
    if (code === NOT) negate(operands.at(-1)!);
    else {
      const right = operands.pop()!;
      combine(SIGN.get(code)!, operands.at(-1)!, right);
      spare.push(right);
    }
  }
}

/** Negates a table in place. */
export function negate(table: Table): void {
  for (let i = 0; i < table.length; i++) table[i] = ~table[i]!;
}

/** Computes `left ∘ right` and stores it in `left`. */
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

/** Whether `conclusion` is true wherever `premises` are true. */
export function entails(premises: Table, conclusion: Table): boolean {
  for (let i = 0; i < premises.length; i++) {
    if ((premises[i]! & ~conclusion[i]!) !== 0) return false;
  }
  return true;
}

export function isTautology(table: Table): boolean {
  for (let i = 0; i < table.length; i++) if (table[i] !== 0xffffffff) return false;
  return true;
}
