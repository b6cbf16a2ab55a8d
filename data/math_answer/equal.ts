/** Equality of answers. */
import type { MathValue } from "./parse.ts";
import { sameReal } from "./rational.ts";

export function sameMath(a: MathValue, b: MathValue): boolean {
  if (a.kind === "number" && b.kind === "number") return sameReal(a.value, b.value);
  if (a.kind === "text" && b.kind === "text") return a.text === b.text;
  if (a.kind === "set" && b.kind === "set") {
    return within(a.items, b.items) && within(b.items, a.items);
  }
  if (a.kind === "tuple" && b.kind === "tuple") {
    return a.open === b.open && a.close === b.close && a.items.length === b.items.length &&
      a.items.every((item, i) => sameMath(item, b.items[i]!));
  }
  return false;
}

function within(some: readonly MathValue[], all: readonly MathValue[]): boolean {
  return some.every((item) => all.some((other) => sameMath(item, other)));
}
