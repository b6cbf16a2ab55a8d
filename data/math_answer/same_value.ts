/** Whether two values are the same one. */
import type { Expr, Relation } from "./formulas/expression.ts";
import { call, hasNames, number, written } from "./formulas/expression.ts";
import { regionOf, sameRegion } from "./formulas/region.ts";
import { proportional, sameFormula } from "./formulas/same_formula.ts";
import { isRounded } from "./formulas/same_number.ts";
import type { MathValue, Region, Unit } from "./formulas/value.ts";

type Kind<K extends MathValue["kind"]> = Extract<MathValue, { kind: K }>;

/** Words of a question that asks for a number with this unit. */
const ASKED: Readonly<Record<Unit, RegExp>> = {
  "%": /per\s?cent|%|\bpct\b/i,
  "°": /degree|°|\\circ|angle/i,
};

/**
 * @param answer may leave out a unit, the braces of a set or the brackets of a tuple
 * @param question where it names a unit the answer may add it
 */
export function sameMath(answer: MathValue, gold: MathValue, question = ""): boolean {
  const [a, b] = [answer, gold];
  if (a.kind === "number" && b.kind === "number") return sameQuantity(a, b, question);
  if (a.kind === "text" && b.kind === "text") return a.text === b.text;
  if (a.kind === "matrix" && b.kind === "matrix") return sameMatrix(a, b);
  if (a.kind === "relations" && b.kind === "relations") return sameRelations(a, b);
  if (a.kind === "ratio" || b.kind === "ratio") return sameRatio(a, b);
  if (a.kind === "named" || b.kind === "named") return sameNamed(a, b, question);
  if (a.kind === "tuple" && b.kind === "tuple" && sameTuple(a, b, question)) return true;
  if (a.kind === "set" && b.kind === "set" && sameSet(a, b, question)) return true;
  if (a.kind === "set" && b.kind === "number") return isOnly(a, b, question);
  if (a.kind === "number" && b.kind === "set") return isOnly(b, a, question);
  if (a.kind === "matrix" && b.kind === "tuple") return sameVector(a, b);
  if (a.kind === "tuple" && b.kind === "matrix") return sameVector(b, a);
  if (a.kind === "set" && b.kind === "tuple") return sameList(a, b, question);
  if (a.kind === "tuple" && b.kind === "set") return sameList(b, a, question);
  return sameRegions(a, b);
}

function sameQuantity(a: Kind<"number">, b: Kind<"number">, question: string): boolean {
  if (a.unit === b.unit) return close(a.expr, b.expr);
  // The gold answer's unit may be left out.
  if (a.unit === undefined && close(a.expr, b.expr)) return true;
  if (b.unit === undefined && ASKED[a.unit!].test(question) && close(a.expr, b.expr)) return true;
  // A percentage is also its value; degrees and radians are two ways to ask.
  if (a.unit === "°" || b.unit === "°") return false;
  const [x, y] = [a, b].map(({ expr, unit }) => unit ? call("/", expr, number(100n)) : expr);
  return sameFormula(x!, y!);
}

const close = (a: Expr, b: Expr): boolean =>
  sameFormula(a, b) || isRounded(a, b) || isRounded(b, a);

function sameTuple(a: Kind<"tuple">, b: Kind<"tuple">, question: string): boolean {
  return a.open === b.open && a.close === b.close && sameInOrder(a.items, b.items, question);
}

/** Whether the list is the tuple without its brackets. */
function sameList(list: Kind<"set">, tuple: Kind<"tuple">, question: string): boolean {
  return list.bare === true && tuple.open === "(" && tuple.close === ")" &&
    sameInOrder(list.items, tuple.items, question);
}

function sameInOrder(
  some: readonly MathValue[],
  others: readonly MathValue[],
  question: string,
): boolean {
  return some.length === others.length &&
    some.every((item, i) => sameMath(item, others[i]!, question));
}

/** "1/2 or 0.5" is one half; "7, 7" is two numbers, and braces make a set, which is no number. */
function isOnly(list: Kind<"set">, value: Kind<"number">, question: string): boolean {
  return list.bare === true && !repeats(list) &&
    list.items.every((item) => sameMath(item, value, question));
}

/** A vector may be written as a tuple. */
function sameVector({ bars, rows }: Kind<"matrix">, tuple: Kind<"tuple">): boolean {
  const cells = rows.flat();
  const isVector = bars === "" && (rows.length === 1 || rows.length === cells.length);
  return isVector && tuple.open === "(" && tuple.close === ")" &&
    cells.length === tuple.items.length &&
    tuple.items.every((item, i) =>
      item.kind === "number" && item.unit === undefined && close(item.expr, cells[i]!)
    );
}

/** Whether a number occurs twice in the same form; 5 and 5.0 are two forms. */
function repeats({ items }: Kind<"set">): boolean {
  const forms = items.flatMap((item) => {
    if (item.kind !== "number") return [];
    const digits = item.expr.kind === "number" ? item.expr.digits : undefined;
    return [`${written(item.expr)} ${digits?.after}`];
  });
  return new Set(forms).size < forms.length;
}

/** An item of a set counts once; a list repeats an item only where the gold answer does. */
function sameSet(a: Kind<"set">, b: Kind<"set">, question: string): boolean {
  const same = (x: MathValue, y: MathValue) => sameMath(x, y, question);
  const isMultiple = b.items.some((item, i) => b.items.slice(0, i).some((x) => sameMath(x, item)));
  if (!isMultiple || a.bare !== true || b.bare !== true) {
    return !(a.bare === true && !isMultiple && repeats(a)) && matched(a.items, b.items, same);
  }
  const left = [...a.items];
  return a.items.length === b.items.length && b.items.every((item) => {
    const found = left.findIndex((x) => same(x, item));
    if (found >= 0) left.splice(found, 1);
    return found >= 0;
  });
}

function sameRegions(a: MathValue, b: MathValue): boolean {
  // A set of numbers is one only beside an interval.
  if (a.kind !== "region" && b.kind !== "region") return false;
  const [x, y] = [safeRegion(a), safeRegion(b)];
  if (x === null || y === null || !sameRegion(x, y)) return false;
  const names = [a, b].map((value) => value.kind === "region" ? value.name : null);
  return names[0] === names[1] || names.includes(null);
}

function safeRegion(value: MathValue): Region | null {
  try {
    return regionOf(value);
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

function sameMatrix(a: Kind<"matrix">, b: Kind<"matrix">): boolean {
  return a.bars === b.bars && a.rows.length === b.rows.length &&
    a.rows.every((row, i) =>
      row.length === b.rows[i]!.length && row.every((cell, k) => close(cell, b.rows[i]![k]!))
    );
}

/** Relations are the same where one is a multiple of the other; < and ≤ by a positive factor. */
function sameRelation(a: Relation, b: Relation): boolean {
  if (a.sign !== b.sign) return false;
  const either = a.sign === "=" || a.sign === "≠";
  return hasNames(a.difference) && proportional(a.difference, b.difference, !either);
}

function sameRelations(a: Kind<"relations">, b: Kind<"relations">): boolean {
  return matched(
    a.groups,
    b.groups,
    (x, y) => matched(x, y, sameRelation),
  );
}

/** Whether each item has an equal one in the other list. */
function matched<T>(some: readonly T[], others: readonly T[], same: (x: T, y: T) => boolean) {
  const found = new Set<number>();
  return some.every((x) => {
    const equal = others.flatMap((y, i) => !found.has(i) && same(x, y) ? [i] : []);
    equal.forEach((i) => found.add(i));
    return equal.length > 0 || others.some((y, i) => found.has(i) && same(x, y));
  }) && found.size === others.length;
}

/** 11 : 21 is 22 : 42 and, of two parts, 11/21. */
function sameRatio(a: MathValue, b: MathValue): boolean {
  const [x, y] = [a, b].map((value) =>
    value.kind === "ratio"
      ? value.parts
      : value.kind === "number" && value.unit === undefined
      ? [value.expr, number(1n)]
      : null
  );
  if (!x || !y || x.length !== y.length) return false;
  return x.every((part, i) => sameFormula(call("*", part, y[0]!), call("*", y[i]!, x[0]!)));
}

/** Values with names; a tuple holds the values in the order of the names. */
function sameNamed(a: MathValue, b: MathValue, question: string): boolean {
  if (a.kind === "named" && b.kind === "named") {
    return a.parts.length === b.parts.length &&
      a.parts.every(({ name, value }, i) =>
        name === b.parts[i]!.name && sameMath(value, b.parts[i]!.value, question)
      );
  }
  if (a.kind === "named") return isOrdered(b) && sameInOrder(a.tuple, b.items, question);
  return b.kind === "named" && isOrdered(a) && sameInOrder(a.items, b.tuple, question);
}

const isOrdered = (value: MathValue): value is Kind<"tuple"> | Kind<"set"> =>
  (value.kind === "tuple" && value.open === "(" && value.close === ")") ||
  (value.kind === "set" && value.bare === true);
