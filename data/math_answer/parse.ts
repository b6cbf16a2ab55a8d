/**
 * Parses answers into values: numbers and formulas, tuples, intervals (also as inequalities) and
 * their unions, sets, lists and ±, matrices, equations. What the grammar does not cover stays text.
 */
import { isBlank } from "../../tasks/python/text.ts";
import { cleanMath, MAX_CHARACTERS, ROW_END } from "./clean.ts";
import { Parser } from "./formula.ts";
import { add, divide, fraction, multiply, negate, sameReal } from "./rational.ts";
import { tokenize, Unreadable } from "./tokens.ts";
import type { Place } from "./unknowns.ts";
import type { MathValue } from "./value.ts";

/** Plain words without mathematics. */
const WORDS = /^[\p{L}\s.,;:!?'’-]*$/u;

/**
 * The value of an answer; null where it is empty or only words (a single letter is a name).
 * @param place which numbers the unknowns stand for
 * @param named read y = 2x as an equation, not as 2x
 */
export function parseMath(text: string, place: Place = 0, named = false): MathValue | null {
  const clean = cleanMath(text, named);
  if (isBlank(clean)) return null;
  const words = isWords(clean);
  if (words && !/\\[A-Za-z]/.test(text)) return null;
  const value = words || clean.length > MAX_CHARACTERS ? null : valueOf(clean, place);
  return value ?? { kind: "text", text: textOf(clean) };
}

/** A text without spacing and typesetting; where it is only words, in lower case. */
export function textOf(clean: string): string {
  const text = clean.replace(/\s+/g, "").replace(/\^\{(\w)\}/g, "^$1")
    .replace(/_\{(\w+)\}/g, "_$1");
  return isWords(clean) ? text.toLowerCase() : text;
}

const isWords = (text: string) => WORDS.test(text) && /\p{L}{2}/u.test(text);

function valueOf(clean: string, place: Place): MathValue | null {
  if (clean.includes("\\begin")) return matrix(clean, place);
  if (clean.includes("∪")) return union(clean, place);
  if (clean.includes("=")) return equation(clean.split("="), place);
  return interval(clean, place) ?? formula(clean, place);
}

function formula(clean: string, place: Place): MathValue | null {
  try {
    // The percent sign belongs to everything before it, as in 33 1/3 %.
    const percent = /^[-+]?(?:[^-+%,]|,(?=\d{3}(?!\d)))*%\s*$/.test(clean);
    const value = new Parser(tokenize(clean.replace(/%\s*$/, percent ? "" : "%").trim()), place)
      .top();
    if (!percent) return value;
    return value.kind === "number"
      ? { kind: "number", value: divide(value.value, fraction(100n)), percent }
      : null;
  } catch (error) {
    // A RangeError is a number that does not exist: a division by zero, an even root of a negative.
    if (error instanceof Unreadable || error instanceof RangeError) return null;
    throw error;
  }
}

const MATRIX = new RegExp(
  String.raw`^(.*?)\s*\*?\s*[(\[]?\s*\\begin\s*\{([pbBvV]?matrix|array)\}(?:\s*\{[^{}]*\})?` +
    String.raw`(.*)\\end\s*\{\2\}\s*[)\]]?$`,
);

function matrix(clean: string, place: Place): MathValue | null {
  const [, before, name, body] = MATRIX.exec(clean) ?? [];
  if (name === undefined || body!.includes("\\begin")) return null;
  const factor = formula(before === "" || before === "-" ? `${before}1` : before!, place);
  if (factor?.kind !== "number" || (/^[vV]/.test(name) && before !== "")) return null;
  const open = /^[vV]/.test(name) ? name : "matrix";
  const rows: MathValue[] = [];
  for (const row of body!.split(ROW_END)) {
    if (isBlank(row)) continue;
    const cells = row.split("&").map((cell) => valueOf(cell.trim(), place));
    if (cells.includes(null)) return null;
    const items = (cells as MathValue[]).map((cell) =>
      cell.kind === "number" ? { ...cell, value: multiply(cell.value, factor.value) } : cell
    );
    if (before !== "" && items.some(({ kind }) => kind !== "number")) return null;
    rows.push({ kind: "tuple", open, close: open, items });
  }
  return { kind: "tuple", open, close: open, items: rows };
}

/** A union of intervals and sets, in any order. */
function union(clean: string, place: Place): MathValue | null {
  const parts = clean.split("∪").map((part) => formula(part, place));
  if (parts.some((part) => part === null || part.kind === "number")) return null;
  return { kind: "set", items: parts as MathValue[] };
}

/** An equation (2x = y), or one value written in several ways (x = 2 + 2 = 4). */
function equation(sides: string[], place: Place): MathValue | null {
  if (sides.length > 2 && /^\s*\p{L}\s*$/u.test(sides[0]!)) sides = sides.slice(1);
  const values = sides.map((side) => formula(side, place));
  const [a, b] = values;
  if (
    values.every((value) =>
      a?.kind === "number" && value?.kind === "number" && sameReal(value.value, a.value)
    )
  ) return a!;
  if (values.length > 2 || a?.kind !== "number" || b?.kind !== "number") return null;
  return { kind: "equation", value: add(a.value, negate(b.value)) };
}

const BETWEEN = /^([^<>≤≥]+)([<≤])\s*\p{L}\s*([<≤])([^<>≤≥]+)$/u;
const BOUND = /^\p{L}\s*([<>≤≥])([^<>≤≥]+)$/u;
const TURNED = /^([^<>≤≥]+)([<>≤≥])\s*(\p{L})$/u;
const MIRRORED: Readonly<Record<string, string>> = { "<": ">", ">": "<", "≤": "≥", "≥": "≤" };

/** Inequalities such as 1 < x ≤ 2 and x > 1 as intervals; several of them as their union. */
function interval(clean: string, place: Place): MathValue | null {
  if (!/[<>≤≥]/.test(clean)) return null;
  const parts = clean.split(",").map((part) => oneInterval(part.trim(), place));
  if (parts.includes(null)) return null;
  return parts.length === 1 ? parts[0]! : { kind: "set", items: parts as MathValue[] };
}

function oneInterval(clean: string, place: Place): MathValue | null {
  const [, low, left, right, high] = BETWEEN.exec(clean) ?? [];
  if (low !== undefined) {
    return formula(`${left === "<" ? "(" : "["}${low},${high}${right === "<" ? ")" : "]"}`, place);
  }
  const [, sign, bound] =
    BOUND.exec(clean.replace(TURNED, (_, b, sign, name) => `${name}${MIRRORED[sign]}${b}`)) ?? [];
  // A bound with an unknown gives no interval: a < c is not b < c.
  if (sign === undefined || /[A-Za-z]/.test(bound!.replace(/\\[A-Za-z]+/g, ""))) return null;
  if (sign === "<" || sign === "≤") {
    return formula(`(-∞,${bound}${sign === "<" ? ")" : "]"}`, place);
  }
  return formula(`${sign === ">" ? "(" : "["}${bound},∞)`, place);
}
