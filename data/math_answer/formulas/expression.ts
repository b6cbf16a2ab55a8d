/** Formulas as trees. Nothing is computed here; `evaluate.ts` gives a formula its value. */
import { type Fraction, fraction, ONE } from "../numbers/rational.ts";

export type Operation =
  | "+"
  | "*"
  | "/"
  | "negate"
  | "^"
  | "root"
  | "abs"
  | "floor"
  | "ceil"
  | "min"
  | "max"
  | "!"
  | "binomial"
  | "log"
  | "sin"
  | "cos"
  | "tan"
  | "cot"
  | "sec"
  | "csc"
  | "arcsin"
  | "arccos"
  | "arctan"
  | "sinh"
  | "cosh"
  | "tanh"
  | "ln"
  | "exp";

export type Expr =
  /**
   * `digits` of a number with a decimal point: how many digits are after the point, and how many
   * are significant.
   */
  | { kind: "number"; value: Fraction; digits?: { after: number; significant: number } }
  | { kind: "constant"; name: "π" | "e" | "i" | "∞" }
  | { kind: "name"; name: string }
  /** root(x, degree), log(x, base), binomial(n, k). */
  | { kind: "call"; name: Operation; args: readonly Expr[] }
  /** A function that only has a name: f(x, y). */
  | { kind: "unknown function"; name: string; args: readonly Expr[] };

export const number = (n: bigint, d = 1n): Expr => ({ kind: "number", value: fraction(n, d) });
export const call = (name: Operation, ...args: Expr[]): Expr => ({ kind: "call", name, args });
export const negative = (a: Expr): Expr =>
  a.kind === "number" ? { ...a, value: { n: -a.value.n, d: a.value.d } } : call("negate", a);
export const minus = (a: Expr, b: Expr): Expr => call("+", a, negative(b));

/** 1 or -1 for ∞ and −∞, else 0. */
export function infinite(expr: Expr): 1 | -1 | 0 {
  if (expr.kind === "constant" && expr.name === "∞") return 1;
  return expr.kind === "call" && expr.name === "negate" && infinite(expr.args[0]!) === 1 ? -1 : 0;
}

/** Every node, parents first. */
export function* nodes(expr: Expr): Generator<Expr> {
  yield expr;
  if ("args" in expr) { for (const arg of expr.args) yield* nodes(arg); }
}

/** The unknowns of formulas, each once. */
export function namesOf(...exprs: readonly Expr[]): string[] {
  const names = new Set<string>();
  for (const expr of exprs) {
    for (const node of nodes(expr)) if (node.kind === "name") names.add(node.name);
  }
  return [...names].sort();
}

export function hasNames(expr: Expr): boolean {
  for (const { kind } of nodes(expr)) {
    if (kind === "name" || kind === "unknown function") return true;
  }
  return false;
}

/** A text that is equal for two formulas only if they are written in the same way. */
export function written(expr: Expr): string {
  switch (expr.kind) {
    case "number":
      return `${expr.value.n}/${expr.value.d}`;
    case "constant":
      return `\\${expr.name}`;
    case "name":
      return expr.name;
    default:
      return `${expr.kind === "call" ? "" : "?"}${expr.name}(${expr.args.map(written).join(",")})`;
  }
}

/** a·x + b, both without unknowns, for a formula that is linear in its only unknown; else null. */
export function linear(expr: Expr): { a: Expr; b: Expr } | null {
  const zero = number(0n);
  if (!hasNames(expr)) return { a: zero, b: expr };
  if (expr.kind === "name") return { a: { kind: "number", value: ONE }, b: zero };
  if (expr.kind !== "call") return null;
  const parts = expr.args.map(linear);
  if (parts.includes(null)) return null;
  const [x, y] = parts as { a: Expr; b: Expr }[];
  const [first, second] = expr.args;
  switch (expr.name) {
    case "negate":
      return { a: negative(x!.a), b: negative(x!.b) };
    case "+":
      return { a: plus(x!.a, y!.a), b: plus(x!.b, y!.b) };
    case "*": {
      const [factor, rest] = hasNames(first!) ? [second!, x!] : [first!, y!];
      return hasNames(factor) ? null : { a: times(rest.a, factor), b: times(rest.b, factor) };
    }
    case "/":
      return hasNames(second!)
        ? null
        : { a: call("/", x!.a, second!), b: call("/", x!.b, second!) };
    default:
      return null;
  }
}

const isZero = (a: Expr) => a.kind === "number" && a.value.n === 0n;
const plus = (a: Expr, b: Expr) => isZero(a) ? b : isZero(b) ? a : call("+", a, b);
const times = (a: Expr, b: Expr) => isZero(a) ? a : isZero(b) ? b : call("*", a, b);

/** A relation between two formulas, as their difference compared with 0. */

export interface Relation {
  /** left − right */
  difference: Expr;
  sign: "=" | "≠" | "<" | "≤";
}
