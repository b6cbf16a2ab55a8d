/** A float64 near the value of a formula. It is fast and only says where to look. */
import type { Expr, Operation } from "./expression.ts";

const FUNCTIONS: Readonly<Partial<Record<Operation, (...args: number[]) => number>>> = {
  "+": (a, b) => a! + b!,
  "*": (a, b) => a! * b!,
  "/": (a, b) => a! / b!,
  "negate": (a) => -a!,
  "^": (a, b) => a! ** b!,
  "root": (a, degree) =>
    degree! % 2 === 1 ? Math.sign(a!) * Math.abs(a!) ** (1 / degree!) : a! ** (1 / degree!),
  "abs": Math.abs,
  "floor": Math.floor,
  "ceil": Math.ceil,
  "min": Math.min,
  "max": Math.max,
  "log": (x, base) => Math.log(x!) / Math.log(base!),
  "sin": Math.sin,
  "cos": Math.cos,
  "tan": Math.tan,
  "arcsin": Math.asin,
  "arccos": Math.acos,
  "arctan": Math.atan,
  "sinh": Math.sinh,
  "cosh": Math.cosh,
  "tanh": Math.tanh,
  "ln": Math.log,
  "exp": Math.exp,
};

/** NaN where there is no real value, or for what is not in the table. */
export function estimate(expr: Expr, point: ReadonlyMap<string, number>): number {
  switch (expr.kind) {
    case "number":
      return Number(expr.value.n) / Number(expr.value.d);
    case "constant":
      return expr.name === "π" ? Math.PI : expr.name === "e" ? Math.E : NaN;
    case "name":
      return point.get(expr.name) ?? NaN;
    case "unknown function":
      return NaN;
    case "call":
      return FUNCTIONS[expr.name]?.(...expr.args.map((arg) => estimate(arg, point))) ?? NaN;
  }
}
