/**
 * Parses answers into values: numbers and formulas, tuples, intervals (also as inequalities) and
 * their unions, sets, lists and ±, matrices, equations. Everything else stays text.
 */
import { isBlank } from "../../../tasks/python/text.ts";
import type { Expr, Relation } from "../formulas/expression.ts";
import { call, hasNames, infinite, minus, namesOf, number } from "../formulas/expression.ts";
import * as sets from "../formulas/region.ts";
import { sameNumber, valueOf } from "../formulas/same_number.ts";
import type { MathValue, Region } from "../formulas/value.ts";
import { signOf } from "../numbers/real.ts";
import { cleanMath, MAX_CHARACTERS, ROW_END } from "./clean.ts";
import { Parser } from "./formula.ts";
import { functionNames, tokenize, Unreadable } from "./tokens.ts";

const MAX_EQUATIONS = 24;
/** Plain words without mathematics. */
const WORDS = /^[\p{L}\s.,;:!?'’-]*$/u;

export interface Reading {
  /** Read y = 2x as an equation, not as 2x. */
  named?: boolean;
  /** Read a word such as xy as a product. */
  products?: boolean;
  /** Names that stand for functions; default: those of the text. */
  functions?: ReadonlySet<string>;
}

/** The value of an answer; null where it is empty or only words (a single letter is a name). */
export function parseMath(
  text: string,
  { named = false, products = false, functions }: Reading = {},
): MathValue | null {
  const clean = cleanMath(text, named);
  if (isBlank(clean)) return null;
  const words = !products && isWords(clean);
  if (words && !/\\[A-Za-z]/.test(text)) return null;
  const value = words || clean.length > MAX_CHARACTERS
    ? null
    : new Reader(functions ?? functionNames(clean)).value(clean);
  return value ?? { kind: "text", text: textOf(clean) };
}

/** A text without spacing and typesetting; a text of words alone is in lower case. */
export function textOf(clean: string): string {
  const text = clean.replace(/\s+/g, "").replace(/\^\{(\w)\}/g, "^$1")
    .replace(/_\{(\w+)\}/g, "_$1");
  return isWords(clean) ? text.toLowerCase() : text;
}

const isWords = (text: string) => WORDS.test(text) && /\p{L}{2}/u.test(text);

class Reader {
  constructor(readonly functions: ReadonlySet<string>) {}

  /** null: unreadable. */
  value(clean: string): MathValue | null {
    try {
      return this.#value(clean);
    } catch (error) {
      // A RangeError is a number that does not exist: a division by zero, ends without an order.
      if (error instanceof Unreadable || error instanceof RangeError) return null;
      throw error;
    }
  }

  #value(clean: string): MathValue | null {
    const read = (text: string) => this.#number(text);
    if (clean.includes("\\begin")) return parseMatrix(clean, read);
    if (isInequality(clean)) return parseInequality(clean, read);
    if (/∪|\\setminus|\\backslash|\\cap/.test(clean)) return this.#union(clean);
    if (clean.includes(":")) return parseRatio(clean, read);
    if (clean.includes("=")) {
      return parseNamed(clean, (text) => this.value(text)) ?? this.#equation(clean);
    }
    return this.#formula(clean);
  }

  /** A number or a formula; null for tuples and the like. */
  #number(text: string): Expr | null {
    const value = this.#formula(text);
    return value?.kind === "number" && value.unit !== "%" ? value.expr : null;
  }

  #formula(clean: string): MathValue | null {
    // The percent sign belongs to everything before it, as in 33 1/3 %.
    const percent = /^[-+]?(?:[^-+%,]|,(?=\d{3}(?!\d)))*%\s*$/.test(clean);
    const text = percent ? clean.trimEnd().slice(0, -1) : clean;
    const value = new Parser(tokenize(text.trim()), this.functions).top();
    if (value.kind === "number" && !isNumber(value.expr)) return null;
    if (!percent) return value;
    return value.kind === "number" && value.unit === undefined ? { ...value, unit: "%" } : null;
  }

  /** A union of intervals and sets, in any order; also A ∖ B. */
  #union(clean: string): MathValue | null {
    const [from, ...less] = clean.split(/\\setminus|\\backslash/);
    const parts = from!.split("∪").map((part) => this.#formula(part));
    if (parts.some((part) => part === null || part.kind === "number")) return null;
    const regions = parts.map((part) => sets.regionOf(part!));
    if (regions.includes(null)) {
      return less.length > 0 ? null : { kind: "set", items: parts as MathValue[] };
    }
    let region = (regions as Region[]).reduce(sets.union);
    for (const text of less) {
      const part = this.#formula(text), taken = part === null ? null : sets.regionOf(part);
      if (taken === null) return null;
      region = sets.without(region, taken);
    }
    return { kind: "region", region, name: null };
  }

  /** An equation (2x = y), a system, or one value written in several ways (x = 2 + 2 = 4). */
  #equation(clean: string): MathValue | null {
    const system = splitTop(clean, ",;");
    if (system.length > MAX_EQUATIONS) return null;
    if (system.length > 1) {
      const all = system.map((text) => this.#equation(text));
      if (!all.every((each) => each?.kind === "equation")) return null;
      const relations = all.map(({ difference }) => ({ difference, sign: "=" as const }));
      return { kind: "relations", groups: [relations] };
    }
    let sides = clean.split("=");
    if (sides.length > 2 && /^\s*[A-Za-z]\s*$/.test(sides[0]!)) sides = sides.slice(1);
    const values = sides.map((side) => this.#formula(side)).map(withoutPercent);
    const [a, b] = values;
    if (a?.kind !== "number" || b?.kind !== "number") return null;
    if (values.every((value) => value?.kind === "number" && sameNumber(value.expr, a.expr))) {
      return a;
    }
    if (values.length > 2 || a.unit !== undefined || b.unit !== undefined) return null;
    return { kind: "equation", difference: minus(a.expr, b.expr) };
  }
}

/** 50% as 50/100. */
function withoutPercent(value: MathValue | null): MathValue | null {
  return value?.kind === "number" && value.unit === "%"
    ? { kind: "number", expr: call("/", value.expr, number(100n)) }
    : value;
}

/** Whether a formula without unknowns has a value; with unknowns it may have one. */
const isNumber = (expr: Expr): boolean =>
  hasNames(expr) || infinite(expr) !== 0 || valueOf(expr) !== null;

/** Ratios such as 11 : 21 or V_1 : V_2 = 11 : 21. */

const NAMES = /^[^:=\d]+(?:_(?:\w|\{\w+\}))?(?::[^:=\d]+(?:_(?:\w|\{\w+\}))?)+=(?=[^=]*$)/;
/** 12:00 is a time; times are compared as texts. */
const TIME = /^\s*\d{1,2}\s*:\s*0\d(?:\s*:\s*\d\d)?\s*$/;

/** null: the text is no ratio of numbers above 0. */
function parseRatio(clean: string, read: (text: string) => Expr | null): MathValue | null {
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

/** Values with names: AB = 4, CD = 5; p = 5, q = 2; p = 7, q = 2. */

type Named = Extract<MathValue, { kind: "named" }>;

const NAME = String.raw`(?:m\s*)?(?:\\[a-z]+\s*)?\{?[A-Za-z]{1,12}'*\}?(?:_(?:\w|\{\w+\}))?` +
  String.raw`(?:\([\w\s,.-]{1,12}\))?`;
const STARTS = new RegExp(`[,;]\\s*(?=${NAME}\\s*=)`);
const PART = new RegExp(`^\\s*(${NAME})\\s*=([^=]+)$`);
const MAX_PARTS = 24;

/**
 * Whether a tuple holds the values by the alphabet: x, y, z; a_1, a_2. Other names, such as r, θ or
 * m, b, are in the order of the text.
 */
function isAlphabetical(sorted: Named["parts"]): boolean {
  const names = sorted.map(({ name }) => name);
  if (names.some((name) => name.startsWith("\\"))) return false;
  return names.some((name) => name.length > 1) ||
    names.every((name, i) => i === 0 || name.charCodeAt(0) === names[i - 1]!.charCodeAt(0) + 1);
}

/**
 * Two or more values with names; a set of such groups if names occur again. Null for other texts.
 */
function parseNamed(clean: string, read: (text: string) => MathValue | null): MathValue | null {
  const texts = clean.split(STARTS);
  if (texts.length < 2 || texts.length > MAX_PARTS) return null;
  const groups: Named["parts"][] = [[]];
  for (const text of texts) {
    const [, written, right] = PART.exec(text) ?? [];
    const value = right === undefined ? null : read(right);
    if (value === null || value.kind === "equation" || value.kind === "named") return null;
    const name = written!.replace(/[\s{}]/g, "");
    if (groups.at(-1)!.some((part) => part.name === name)) groups.push([]);
    groups.at(-1)!.push({ name, value });
  }
  const items = groups.map((parts): Named => {
    const sorted = [...parts].sort((a, b) => a.name < b.name ? -1 : 1);
    const tuple = (isAlphabetical(sorted) ? sorted : parts).map(({ value }) => value);
    return { kind: "named", parts: sorted, tuple };
  });
  if (items.length === 1) return items[0]!;
  // All groups have the same names.
  const names = items.map(({ parts }) => parts.map(({ name }) => name).join());
  return new Set(names).size === 1 ? { kind: "set", items } : null;
}

/** Inequalities, with "and", "or" and chains, as sets of numbers or as relations. */

type Read = (text: string) => Expr | null;

const NEXT = String.raw`(?=[\s\d(\\|+-]|[A-Za-z](?![A-Za-z]))`;
const BEFORE = String.raw`(?<![A-Za-z\\][A-Za-z]|\\)`;
const OR = new RegExp(String.raw`\s*[,;]?\s*(?:∨|\\lor\b|\\vee\b|${BEFORE}or${NEXT})\s*`);
const AND = new RegExp(
  String.raw`\s*[,;]?\s*(?:∧|\\land\b|\\wedge\b|${BEFORE}and${NEXT}|\bbut${NEXT})\s*`,
);
const MAX_RELATIONS = 12;
/** The values of a function, as in 0 < f(x) < 1. */
const VALUES = /^\s*[fgh]\s*\([a-z]\)\s*$/;

/** Whether a text holds a relation other than =. */
const isInequality = (clean: string): boolean => /[<>≤≥≠]/.test(clean);

/** null: the text is something else. @throws RangeError for ends without an order */
function parseInequality(clean: string, read: Read): MathValue | null {
  const groups: Relation[][] = [];
  /** Whether only commas stand between the relations. */
  let commas = true;
  const options = clean.split(OR);
  for (const option of options) {
    const parts = option.split(AND);
    commas &&= parts.length === 1 && options.length === 1;
    const relations = parts.flatMap((part) =>
      splitTop(part, ",;").map((text) => chain(text, read))
    );
    if (relations.includes(null)) return null;
    groups.push((relations as Relation[][]).flat());
  }
  const all = groups.flat();
  if (all.length > MAX_RELATIONS) return null;
  return region(groups, commas) ?? (all.length === 0 ? null : { kind: "relations", groups });
}

/** The relations of a < b ≤ c; those with ±∞, which always hold, are left out. */
function chain(text: string, read: Read): Relation[] | null {
  const parts = text.split(/([<>≤≥≠=])/), relations: Relation[] = [];
  const sides = parts.filter((_, i) => i % 2 === 0)
    .map((text): Expr | null =>
      VALUES.test(text) ? { kind: "name", name: text.trim() } : read(text)
    );
  if (sides.includes(null) || sides.length < 2) return null;
  for (let i = 1; i < sides.length; i++) {
    let [left, right] = [sides[i - 1]!, sides[i]!], sign = parts[2 * i - 1]!;
    if (sign === ">" || sign === "≥") {
      [left, right] = [right, left];
      sign = sign === ">" ? "<" : "≤";
    }
    if (infinite(left) === -1 && infinite(right) === 0 && sign === "<") continue;
    if (infinite(right) === 1 && infinite(left) === 0 && sign === "<") continue;
    if (infinite(left) !== 0 || infinite(right) !== 0) return null;
    relations.push({ difference: minus(left, right), sign: sign as Relation["sign"] });
  }
  return relations;
}

function region(groups: readonly (readonly Relation[])[], commas: boolean): MathValue | null {
  const names = namesOf(...groups.flat().map(({ difference }) => difference));
  if (names.length !== 1) return null;
  const found = groups.map((group) => group.map(sets.solutions));
  if (found.some((group) => group.includes(null))) return null;
  const regions = (found as Region[][]).map((group) => group.reduce(sets.intersection, sets.ALL));
  let value = regions.reduce(sets.union);
  // x < 1, x > 2 can only mean "or".
  if (commas && sets.isEmpty(value)) value = (found as Region[][])[0]!.reduce(sets.union);
  return { kind: "region", region: value, name: names[0]! };
}

/** Splits a text at signs that stand outside of all brackets. */
function splitTop(text: string, signs: string): string[] {
  const parts: string[] = [];
  let depth = 0, from = 0;
  for (let i = 0; i < text.length; i++) {
    const sign = text[i]!;
    if ("([{".includes(sign)) depth++;
    else if (")]}".includes(sign)) depth--;
    else if (depth === 0 && signs.includes(sign)) {
      parts.push(text.slice(from, i));
      from = i + 1;
    }
  }
  parts.push(text.slice(from));
  return parts;
}

// Matrices and vectors: sums, products and powers of them, with the factors before them.

type Matrix = Extract<MathValue, { kind: "matrix" }>;

const MATRIX = new RegExp(
  String.raw`[(\[]?\s*\\begin\s*\{([pbBvV]?matrix|array)\}(?:(?<=array\})\s*\{[^{}]*\})?` +
    String.raw`((?:(?!\\begin|\\end)[^])*)\\end\s*\{\1\}\s*[)\]]?` +
    String.raw`(?:\s*\^\s*(?:\{\s*)?(\\top|T|\d)(?:\s*\})?)?`,
  "g",
);
const MAX_CELLS = 64;

/** null: the text is no formula of matrices. */
function parseMatrix(clean: string, read: Read): MathValue | null {
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
