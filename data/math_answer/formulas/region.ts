/** Sets of real numbers that consist of intervals and single points. */
import type { Expr, Relation } from "./expression.ts";
import {
  call,
  hasNames,
  infinite,
  linear,
  namesOf,
  negative,
  nodes,
  number,
} from "./expression.ts";
import { compareNumbers, valueOf } from "./same_number.ts";
import type { MathValue, Region } from "./value.ts";

export const ALL: Region = { at: [], inside: [true] };

type Place = readonly [below: boolean, at: boolean, above: boolean];

const ray = (end: Expr, inside: Place): Region => ({ at: [end], inside });

/**
 * The numbers that belong to both sets, or to any of them, as `rule` says.
 * @throws RangeError if the order of the ends is unknown
 */
function combined(a: Region, b: Region, rule: (a: boolean, b: boolean) => boolean): Region {
  const at: Expr[] = [], inside: boolean[] = [rule(a.inside[0]!, b.inside[0]!)];
  let i = 0, j = 0;
  while (i < a.at.length || j < b.at.length) {
    const order = i === a.at.length
      ? 1
      : j === b.at.length
      ? -1
      : compareNumbers(a.at[i]!, b.at[j]!);
    if (order === null) throw new RangeError("the order of the ends is unknown");
    at.push(order <= 0 ? a.at[i]! : b.at[j]!);
    const onA = order <= 0 ? a.inside[2 * i + 1]! : a.inside[2 * i]!;
    const onB = order >= 0 ? b.inside[2 * j + 1]! : b.inside[2 * j]!;
    if (order <= 0) i++;
    if (order >= 0) j++;
    inside.push(rule(onA, onB), rule(a.inside[2 * i]!, b.inside[2 * j]!));
  }
  return simple(at, inside);
}

/** Removes ends at which nothing changes. */
function simple(at: readonly Expr[], inside: readonly boolean[]): Region {
  const ends: Expr[] = [], kept = [inside[0]!];
  at.forEach((end, i) => {
    const [before, on, after] = [kept.at(-1)!, inside[2 * i + 1]!, inside[2 * i + 2]!];
    if (before === on && on === after) return;
    ends.push(end);
    kept.push(on, after);
  });
  return { at: ends, inside: kept };
}

export const union = (a: Region, b: Region): Region => combined(a, b, (x, y) => x || y);
export const intersection = (a: Region, b: Region): Region => combined(a, b, (x, y) => x && y);
export const without = (a: Region, b: Region): Region => combined(a, b, (x, y) => x && !y);
export const isEmpty = ({ inside }: Region): boolean => !inside.includes(true);

export function sameRegion(a: Region, b: Region): boolean {
  return a.at.length === b.at.length && a.inside.every((is, i) => is === b.inside[i]) &&
    a.at.every((end, i) => compareNumbers(end, b.at[i]!) === 0);
}

/**
 * The interval between two constants. Null if the first is not below the second, or if an infinite
 * end belongs to the interval: infinity is no number.
 */
export function interval(
  [low, high]: readonly [Expr, Expr],
  [withLow, withHigh]: readonly [boolean, boolean],
): Region | null {
  if (compareNumbers(low, high) !== -1) return null;
  if ((withLow && infinite(low) !== 0) || (withHigh && infinite(high) !== 0)) return null;
  const above: Region = infinite(low) !== 0 ? ALL : ray(low, [false, withLow, true]);
  const below: Region = infinite(high) !== 0 ? ALL : ray(high, [true, withHigh, false]);
  return intersection(above, below);
}

export const single = (value: Expr): Region => ray(value, [false, true, false]);

/**
 * The numbers for which a relation holds that is linear in its only unknown, apart from one
 * absolute value of it; else null.
 */
export function solutions(relation: Relation): Region | null {
  if (namesOf(relation.difference).length !== 1) return null;
  const size = [...nodes(relation.difference)].find((node) =>
    node.kind === "call" && node.name === "abs" && hasNames(node)
  );
  if (size === undefined || !("args" in size)) return linearSolutions(relation);
  // |g| is g where g ≥ 0, and −g elsewhere.
  const inner = size.args[0]!, turned = negative(inner);
  const branch = (value: Expr, below: Expr, sign: "<" | "≤"): Region | null => {
    const difference = replaced(relation.difference, size, value);
    const [there, holds] = [
      linearSolutions({ difference: below, sign }),
      hasNames(difference) ? linearSolutions({ ...relation, difference }) : null,
    ];
    return there === null || holds === null ? null : intersection(there, holds);
  };
  const [up, down] = [branch(inner, turned, "≤"), branch(turned, inner, "<")];
  return up === null || down === null ? null : union(up, down);
}

function replaced(expr: Expr, node: Expr, by: Expr): Expr {
  if (expr === node) return by;
  return "args" in expr ? { ...expr, args: expr.args.map((arg) => replaced(arg, node, by)) } : expr;
}

function linearSolutions({ difference, sign }: Relation): Region | null {
  const parts = linear(difference);
  if (parts === null) return null;
  const slope = compareNumbers(parts.a, number(0n));
  if (slope === null || slope === 0) return null;
  const end = call("negate", call("/", parts.b, parts.a));
  if (sign === "=") return single(end);
  if (sign === "≠") return ray(end, [true, false, true]);
  return ray(end, [slope > 0, sign === "≤", slope < 0]);
}

/** The set of numbers that an interval or a set of constants stands for; else null. */
export function regionOf(value: MathValue): Region | null {
  if (value.kind === "region") return value.region;
  if (value.kind === "tuple") {
    const [low, high] = value.items;
    if (value.items.length !== 2 || low!.kind !== "number" || high!.kind !== "number") return null;
    return interval([low!.expr, high!.expr], [value.open === "[", value.close === "]"]);
  }
  if (value.kind !== "set" || value.bare === true || value.items.length === 0) return null;
  const points: Region[] = [];
  for (const item of value.items) {
    if (item.kind !== "number" || valueOf(item.expr) === null) return null;
    points.push(single(item.expr));
  }
  return points.reduce(union);
}
