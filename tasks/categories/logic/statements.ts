/**
 * The statements of knights_knaves, as nested lists: ["telling-truth", i], ["lying", i], ["not",
 * s], ["and", s, …], ["or", s, …], ["->", s, s], ["<=>", s, s]. People are numbered from 0. This
 * file draws statements, evaluates them, phrases them, and searches for all roles that fit.
 */
import type { RandomStream } from "../../../core/philox.ts";

type Operator = "not" | "and" | "or" | "->" | "<=>";
export type Statement = ["telling-truth" | "lying", number] | [Operator, ...Statement[]];

/**
 * Maximum number of atoms of a statement, approximately. Beyond it, only required parts are added,
 * as atoms.
 */
const MAX_ATOMS = 200;
const OPERATORS: readonly Operator[] = ["not", "and", "or", "->", "<=>"];

/** A statement nested at most `depth` deep. Speakers never call themselves liars. */
export function drawStatement(
  random: RandomStream,
  speaker: number,
  people: number,
  depth: number,
  width: number,
): Statement {
  let atoms = 0;
  return draw(depth);

  function draw(levels: number): Statement {
    const operator = random.below(6) - 1;
    if (levels === 1 || operator === -1 || atoms >= MAX_ATOMS) return drawAtom();
    const name = OPERATORS[operator]!;
    const count = name === "not" ? 1 : operator >= 3 ? 2 : random.int(2, Math.max(2, width));
    const parts: Statement[] = [];
    for (let i = 0; i < count && (i < 2 || atoms < MAX_ATOMS); i++) {
      let part = draw(levels - 1);
      for (let tries = 0; tries < 8 && parts.some((other) => isSameAtom(other, part)); tries++) {
        part = draw(levels - 1);
      }
      parts.push(part);
    }
    return [name, ...parts];
  }

  function drawAtom(): Statement {
    atoms++;
    const about = random.below(people);
    return [about !== speaker && random.chance(0.5) ? "lying" : "telling-truth", about];
  }
}

function isSameAtom(a: Statement, b: Statement): boolean {
  return a[0] === b[0] && a[1] === b[1] && typeof a[1] === "number";
}

/** Whether a statement is true; undefined when that depends on people with unknown roles. */
export function holds(
  statement: Statement,
  isKnight: readonly (boolean | undefined)[],
): boolean | undefined {
  // No destructuring, because the generator spends most of its time here.
  switch (statement[0]) {
    case "telling-truth":
      return isKnight[statement[1] as number];
    case "lying":
      return negated(isKnight[statement[1] as number]);
    case "not":
      return negated(holds(statement[1] as Statement, isKnight));
    case "and":
      return all(statement, isKnight, true);
    case "or":
      return negated(all(statement, isKnight, false));
    case "->": {
      const condition = holds(statement[1] as Statement, isKnight);
      if (condition === false) return true;
      const result = holds(statement[2]!, isKnight);
      return result === true ? true : condition === undefined ? undefined : result;
    }
    case "<=>": {
      const left = holds(statement[1] as Statement, isKnight);
      const right = holds(statement[2]!, isKnight);
      return left === undefined || right === undefined ? undefined : left === right;
    }
  }
}

/** Whether every part of a statement has the wanted truth. */
function all(
  statement: Statement,
  isKnight: readonly (boolean | undefined)[],
  wanted: boolean,
): boolean | undefined {
  let known = true;
  for (let i = 1; i < statement.length; i++) {
    const truth = holds(statement[i] as Statement, isKnight);
    if (truth === !wanted) return false;
    if (truth === undefined) known = false;
  }
  return known ? true : undefined;
}

function negated(truth: boolean | undefined): boolean | undefined {
  return truth === undefined ? undefined : !truth;
}

/** Maximum number of branches when searching; a puzzle that needs more is drawn again. */
const MAX_BRANCHES = 500;

/** Whether exactly one assignment of roles makes the knights' statements, and no others, true. */
export function hasOneSolution(statements: readonly Statement[]): boolean {
  let branches = 0;
  return count(Array.from(statements, () => undefined)) === 1;

  /** The number of solutions with these roles; 2 for more, or when the search is cut off. */
  function count(isKnight: (boolean | undefined)[]): number {
    for (let changed = true; changed;) {
      changed = false;
      for (let i = 0; i < statements.length; i++) {
        const truth = holds(statements[i]!, isKnight);
        if (truth === undefined || truth === isKnight[i]) continue;
        if (isKnight[i] !== undefined) return 0;
        isKnight[i] = truth;
        changed = true;
      }
    }
    const open = isKnight.indexOf(undefined);
    if (open === -1) return 1;
    if (++branches > MAX_BRANCHES) return 2;
    const other = isKnight.slice();
    isKnight[open] = true;
    other[open] = false;
    const found = count(isKnight);
    return found === 2 ? 2 : Math.min(2, found + count(other));
  }
}

/** Phrases a statement. Parts that are not atoms are put in parentheses. */
export function phrase(
  statement: Statement,
  names: readonly string[],
  aKnight: string,
  aKnave: string,
): string {
  const [operator, ...parts] = statement;
  if (operator === "telling-truth") return `${names[statement[1]]} is ${aKnight}`;
  if (operator === "lying") return `${names[statement[1]]} is ${aKnave}`;
  const inner = (parts as Statement[]).map((part) => {
    const text = phrase(part, names, aKnight, aKnave);
    return typeof part[1] === "number" ? text : `(${text})`;
  });
  switch (operator) {
    case "not":
      return `it is not the case that ${inner[0]}`;
    case "->":
      return `if ${inner[0]} then ${inner[1]}`;
    case "<=>":
      return inner.join(" if and only if ");
    default:
      return inner.join(` ${operator} `);
  }
}
