/** Values that are sets of real numbers. */
import { interval, type Region, single, union } from "./region.ts";
import { valueOf } from "./same_number.ts";
import type { MathValue } from "./value.ts";

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
