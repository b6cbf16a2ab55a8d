/** Inequalities, with "and", "or" and chains, as sets of numbers or as relations. */
import { type Expr, infinite, minus, namesOf } from "../formulas/expression.ts";
import { ALL, intersection, isEmpty, type Region, solutions, union } from "../formulas/region.ts";
import type { Relation } from "../formulas/relation.ts";
import { splitTop } from "./split.ts";
import type { MathValue } from "../formulas/value.ts";

type Read = (text: string) => Expr | null;

const NEXT = String.raw`(?=[\s\d(\\|+-]|[A-Za-z](?![A-Za-z]))`;
const BEFORE = String.raw`(?<![A-Za-z\\][A-Za-z]|\\)`;
const OR = new RegExp(String.raw`\s*[,;]?\s*(?:∨|\\lor\b|\\vee\b|${BEFORE}or${NEXT})\s*`);
const AND = new RegExp(
  String.raw`\s*[,;]?\s*(?:∧|\\land\b|\\wedge\b|${BEFORE}and${NEXT}|\bbut${NEXT})\s*`,
);
const MAX_RELATIONS = 12;
/** The values of a function, as in 0 < f(x) < 1. */
const VALUES = /^\s*[fgh]\s*\([a-z]\)\s*$/;

/** Whether a text holds a relation other than =. */
export const isInequality = (clean: string): boolean => /[<>≤≥≠]/.test(clean);

/** null: the text is something else. @throws RangeError for ends without an order */
export function parseInequality(clean: string, read: Read): MathValue | null {
  const groups: Relation[][] = [];
  /** Whether only commas stand between the relations. */
  let commas = true;
  const options = clean.split(OR);
  for (const option of options) {
    const parts = option.split(AND);
    commas &&= parts.length === 1 && options.length === 1;
    const relations = parts.flatMap((part) =>
      splitTop(part, ",;").map((text) => chain(text, read))
    );
    if (relations.includes(null)) return null;
    groups.push((relations as Relation[][]).flat());
  }
  const all = groups.flat();
  if (all.length > MAX_RELATIONS) return null;
  return region(groups, commas) ?? (all.length === 0 ? null : { kind: "relations", groups });
}

/** The relations of a < b ≤ c; those with ±∞, which always hold, are left out. */
function chain(text: string, read: Read): Relation[] | null {
  const parts = text.split(/([<>≤≥≠=])/), relations: Relation[] = [];
  const sides = parts.filter((_, i) => i % 2 === 0)
    .map((text): Expr | null =>
      VALUES.test(text) ? { kind: "name", name: text.trim() } : read(text)
    );
  if (sides.includes(null) || sides.length < 2) return null;
  for (let i = 1; i < sides.length; i++) {
    let [left, right] = [sides[i - 1]!, sides[i]!], sign = parts[2 * i - 1]!;
    if (sign === ">" || sign === "≥") {
      [left, right] = [right, left];
      sign = sign === ">" ? "<" : "≤";
    }
    if (infinite(left) === -1 && infinite(right) === 0 && sign === "<") continue;
    if (infinite(right) === 1 && infinite(left) === 0 && sign === "<") continue;
    if (infinite(left) !== 0 || infinite(right) !== 0) return null;
    relations.push({ difference: minus(left, right), sign: sign as Relation["sign"] });
  }
  return relations;
}

function region(groups: readonly (readonly Relation[])[], commas: boolean): MathValue | null {
  const names = namesOf(...groups.flat().map(({ difference }) => difference));
  if (names.length !== 1) return null;
  const found = groups.map((group) => group.map(solutions));
  if (found.some((group) => group.includes(null))) return null;
  const regions = (found as Region[][]).map((group) => group.reduce(intersection, ALL));
  let value = regions.reduce(union);
  // x < 1, x > 2 can only mean "or".
  if (commas && isEmpty(value)) value = (found as Region[][])[0]!.reduce(union);
  return { kind: "region", region: value, name: names[0]! };
}
