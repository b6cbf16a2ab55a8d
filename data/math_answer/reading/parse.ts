/**
 * Parses answers into values: numbers and formulas, tuples, intervals (also as inequalities) and
 * their unions, sets, lists and ±, matrices, equations. What the grammar does not cover stays text.
 */
import { isBlank } from "../../../tasks/python/text.ts";
import { cleanMath, MAX_CHARACTERS } from "./clean.ts";
import { call, type Expr, hasNames, infinite, minus, number } from "../formulas/expression.ts";
import { Parser } from "./formula.ts";
import { isInequality, parseInequality } from "./inequality.ts";
import { parseMatrix } from "./matrix.ts";
import { parseNamed } from "./named.ts";
import { parseRatio } from "./ratio.ts";
import { type Region, union, without } from "../formulas/region.ts";
import { regionOf } from "../formulas/region_of.ts";
import { sameNumber, valueOf } from "../formulas/same_number.ts";
import { splitTop } from "./split.ts";
import { functionNames, tokenize, Unreadable } from "./tokens.ts";
import type { MathValue } from "../formulas/value.ts";

const MAX_EQUATIONS = 24;
/** Plain words without mathematics. */
const WORDS = /^[\p{L}\s.,;:!?'’-]*$/u;

/** How to read an answer. */
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

/** A text without spacing and typesetting; where it is only words, in lower case. */
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
    const regions = parts.map((part) => regionOf(part!));
    if (regions.includes(null)) {
      return less.length > 0 ? null : { kind: "set", items: parts as MathValue[] };
    }
    let region = (regions as Region[]).reduce(union);
    for (const text of less) {
      const part = this.#formula(text), taken = part === null ? null : regionOf(part);
      if (taken === null) return null;
      region = without(region, taken);
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
