/** The value of an answer. */
import type { Expr, Relation } from "./expression.ts";

/** A sign after a number that is both a unit and a factor: 1/100 (%), or π/180 (°). */
export type Unit = "%" | "°";

export type MathValue =
  /** With a unit, `expr` is the number before it. */
  | { kind: "number"; expr: Expr; unit?: Unit }
  /**
   * Items in any order; `bare`: a list without braces, whose order may matter; `signs`: the two
   * values of a ± sign.
   */
  | { kind: "set"; items: MathValue[]; bare?: boolean; signs?: true }
  /** A tuple or an interval, with its brackets. */
  | { kind: "tuple"; open: string; close: string; items: MathValue[] }
  /** `bars`: the bars of a determinant or a norm, else "". */
  | { kind: "matrix"; bars: string; rows: Expr[][] }
  | { kind: "equation"; difference: Expr }
  /** A set of real numbers; `name`: the unknown whose values they are. */
  | { kind: "region"; region: Region; name: string | null }
  /** Groups of relations: all relations of at least one group hold. */
  | { kind: "relations"; groups: Relation[][] }
  /** Values by name, sorted by name: x = 1, y = 2; `tuple`: in the order of a tuple. */
  | { kind: "named"; parts: { name: string; value: MathValue }[]; tuple: MathValue[] }
  /** a : b : c, without a common factor. */
  | { kind: "ratio"; parts: Expr[] }
  | { kind: "text"; text: string };

export interface Region {
  /** The ends of intervals, and single points, ascending. */
  at: readonly Expr[];
  /** Whether numbers belong to it: before at[0], at[0], between at[0] and at[1], at[1], … */
  inside: readonly boolean[];
}
