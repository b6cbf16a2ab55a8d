/** Matrices and vectors: sums, products and powers of them, with the factors before them. */
import { isBlank } from "../../../tasks/python/text.ts";
import { ROW_END } from "./clean.ts";
import { call, type Expr, number } from "../formulas/expression.ts";
import type { MathValue } from "../formulas/value.ts";

type Matrix = Extract<MathValue, { kind: "matrix" }>;
type Read = (text: string) => Expr | null;

const MATRIX = new RegExp(
  String.raw`[(\[]?\s*\\begin\s*\{([pbBvV]?matrix|array)\}(?:(?<=array\})\s*\{[^{}]*\})?` +
    String.raw`((?:(?!\\begin|\\end)[^])*)\\end\s*\{\1\}\s*[)\]]?` +
    String.raw`(?:\s*\^\s*(?:\{\s*)?(\\top|T|\d)(?:\s*\})?)?`,
  "g",
);
const MAX_CELLS = 64;

/** null: the text is no formula of matrices. */
export function parseMatrix(clean: string, read: Read): MathValue | null {
  let sum: Matrix | null = null, product: Matrix | null = null, sign = "+", from = 0;
  for (const match of clean.matchAll(MATRIX)) {
    const matrix = raised(cells(match, read), match[3]);
    const before = clean.slice(from, match.index).replace(/\s*(?:\*|\\cdot)\s*$/, "").trim();
    from = match.index + match[0].length;
    if (matrix === null) return null;
    if (product !== null && before === "") {
      product = multiplied(product, matrix);
      if (product === null) return null;
      continue;
    }
    const [, between, factor] = /^([-+]?)([^]*)$/.exec(before)!;
    if (product !== null) {
      if (between === "") return null;
      sum = added(sum, product, sign);
      if (sum === null) return null;
    }
    sign = between === "-" ? "-" : "+";
    const scale = isBlank(factor!) ? number(1n) : read(factor!);
    // A factor before a determinant is no factor of its cells.
    if (scale === null || (matrix.bars !== "" && before !== "")) return null;
    product = isBlank(factor!) ? matrix : scaled(matrix, scale);
  }
  if (product === null) return null;
  const rest = clean.slice(from).trim();
  if (rest !== "") {
    const [, operator, text] = /^([/*])\s*([^+]+)$/.exec(rest) ?? [];
    const by = text === undefined ? null : read(text);
    if (by === null || product.bars !== "") return null;
    product = scaled(product, operator === "*" ? by : call("/", number(1n), by));
  }
  return added(sum, product, sign);
}

function cells([, name, body]: RegExpMatchArray, read: Read): Matrix | null {
  const rows: Expr[][] = [];
  let count = 0;
  for (const text of body!.split(ROW_END)) {
    if (isBlank(text)) continue;
    const row = text.split("&").map((cell) => read(cell.trim()));
    count += row.length;
    if (count > MAX_CELLS || row.includes(null)) return null;
    rows.push(row as Expr[]);
  }
  if (rows.length === 0 || rows.some(({ length }) => length !== rows[0]!.length)) return null;
  return { kind: "matrix", bars: /^[vV]/.test(name!) ? name! : "", rows };
}

function raised(matrix: Matrix | null, power: string | undefined): Matrix | null {
  if (matrix === null || power === undefined) return matrix;
  if (matrix.bars !== "") return null;
  if (!/\d/.test(power)) {
    return { ...matrix, rows: matrix.rows[0]!.map((_, k) => matrix.rows.map((row) => row[k]!)) };
  }
  let value: Matrix | null = matrix;
  if (Number(power) === 0) return null;
  for (let i = 1; i < Number(power) && value !== null; i++) value = multiplied(value, matrix);
  return value;
}

const scaled = (matrix: Matrix, by: Expr): Matrix => ({
  ...matrix,
  rows: matrix.rows.map((row) => row.map((cell) => call("*", by, cell))),
});

function added(a: Matrix | null, b: Matrix, sign: string): Matrix | null {
  const term = sign === "-" ? scaled(b, number(-1n)) : b;
  if (a === null) return b.bars !== "" && sign === "-" ? null : term;
  const same = a.rows.length === b.rows.length && a.rows[0]!.length === b.rows[0]!.length;
  if (!same || a.bars !== "" || b.bars !== "") return null;
  return {
    ...a,
    rows: a.rows.map((row, i) => row.map((cell, k) => call("+", cell, term.rows[i]![k]!))),
  };
}

function multiplied(a: Matrix, b: Matrix): Matrix | null {
  if (a.rows[0]!.length !== b.rows.length || a.bars !== "" || b.bars !== "") return null;
  const rows = a.rows.map((row) =>
    b.rows[0]!.map((_, k) =>
      row.map((cell, i) => call("*", cell, b.rows[i]![k]!)).reduce((x, y) => call("+", x, y))
    )
  );
  return { kind: "matrix", bars: "", rows };
}
