/** The value of an answer. */
import type { Real } from "./rational.ts";

export type MathValue =
  | {
    kind: "number";
    value: Real;
    /** It was written with a percent sign; the value is already divided by 100. */
    percent?: true;
  }
  /** Items in any order; `bare`: a list without braces, whose order may matter. */
  | { kind: "set"; items: MathValue[]; bare?: boolean }
  /** A tuple, an interval or a matrix, with its brackets. */
  | { kind: "tuple"; open: string; close: string; items: MathValue[] }
  /** `value`: the left side less the right side. */
  | { kind: "equation"; value: Real }
  | { kind: "text"; text: string };
