/** Ratios such as 11 : 21 or V_1 : V_2 = 11 : 21. */
import type { Expr } from "../formulas/expression.ts";
import { signOf } from "../numbers/real.ts";
import { valueOf } from "../formulas/same_number.ts";
import type { MathValue } from "../formulas/value.ts";

const NAMES = /^[^:=\d]+(?:_(?:\w|\{\w+\}))?(?::[^:=\d]+(?:_(?:\w|\{\w+\}))?)+=(?=[^=]*$)/;
/** 12:00 is a time; times are compared as texts. */
const TIME = /^\s*\d{1,2}\s*:\s*0\d(?:\s*:\s*\d\d)?\s*$/;

/** null: the text is no ratio of numbers above 0. */
export function parseRatio(clean: string, read: (text: string) => Expr | null): MathValue | null {
  const text = clean.replace(/\s+/g, " ").replace(NAMES, "");
  if (text.includes("=") || TIME.test(text)) return null;
  const parts = text.split(":").map(read);
  if (parts.length < 2 || parts.length > 8 || parts.includes(null)) return null;
  const positive = (parts as Expr[]).every((part) => {
    const value = valueOf(part);
    return value === null || signOf(value.re) === 1;
  });
  return positive ? { kind: "ratio", parts: parts as Expr[] } : null;
}
