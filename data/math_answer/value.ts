/** What an answer is. */
import type { Real } from "./rational.ts";

export type MathValue =
  | {
    kind: "number";
    value: Real; /** Written with a percent sign, of which the value is a hundredth. */
    percent?: true;
  }
  /** In any order; `bare`: a list without braces, in its order. */
  | { kind: "set"; items: MathValue[]; bare?: boolean }
  /** A tuple, an interval or a matrix, with its brackets. */
  | { kind: "tuple"; open: string; close: string; items: MathValue[] }
  /** What both sides differ by. */
  | { kind: "equation"; value: Real }
  | { kind: "text"; text: string };
