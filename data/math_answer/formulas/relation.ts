/** A relation between two formulas, as their difference compared with 0. */
import type { Expr } from "./expression.ts";

export interface Relation {
  /** left − right */
  difference: Expr;
  sign: "=" | "≠" | "<" | "≤";
}
