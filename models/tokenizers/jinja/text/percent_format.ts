/** Python's `text % values`. */
import { PyDict, PyFloat, PyTuple } from "../../../../tasks/python/literals.ts";
import { codePoints } from "../../../../tasks/python/text.ts";
import {
  numberOf,
  Range,
  repr,
  str,
  typeName,
  Undefined,
  unmarked,
  type Value,
} from "../values.ts";
import { MAX_FILL, requireFormatSize } from "./functions.ts";
import { floatText, integerText } from "./numbers.ts";

const DIRECTIVE = /%(?:\(([^()]*)\))?([-+ #0]*)(\*|\d{0,6})(?:\.(\*|\d{0,3}))?[hlL]?(.)?/gsu;

/**
 * @param values a tuple of values, a dict for `%(name)s`, or one value
 * @throws Error for too many or too few values, and for directives that Python does not have
 */
export function percentFormat(template: string, values: Value): string {
  requireFormatSize(template);
  const given: Value[] = values instanceof PyTuple ? [...values.items] : [values];
  let used = 0;
  const next = (whole: string) => {
    const value = given[used++];
    if (value === undefined) throw new Error(`no value is left for ${whole} of a text`);
    return value;
  };
  let isNamed = false;
  const text = template.replace(
    DIRECTIVE,
    (whole, key: string | undefined, flags, width, precision: string | undefined, type) => {
      if (whole === "%%") return "%";
      if (type === undefined) throw new Error("a text that is formatted ends with %");
      const size = width === "*" ? count(next(whole)) : Number(width);
      const digits = precision === "*" ? count(next(whole)) : precision && Number(precision);
      if (key !== undefined) isNamed = true;
      const value = key === undefined ? next(whole) : named(values, key);
      const limit = precision === "" ? 0 : digits as number | undefined;
      return padded(directive(whole, type, flags, limit, value), flags, size, type);
    },
  );
  if (used < given.length && !isNamed && !mayBeLeft(values)) {
    throw new Error("not all values were used by % of a text");
  }
  return text;
}

function named(values: Value, key: string): Value {
  const value = values instanceof PyDict ? values.get(key) : undefined;
  if (value === undefined) throw new Error(`% of a text got no value named ${key}`);
  return value;
}

/** Python ignores values that could have names: whatever has items, but is no tuple or text. */
function mayBeLeft(values: Value): boolean {
  return values instanceof PyDict || Array.isArray(values) || values instanceof Undefined ||
    values instanceof Range;
}

function count(value: Value): number {
  if (typeof value === "bigint" && value <= MAX_FILL) return Number(value);
  throw new Error(`* of a text's directive needs an int of at most ${MAX_FILL}`);
}

/** @returns sign and mark, then the rest */
function directive(
  whole: string,
  type: string,
  flags: string,
  digits: number | undefined,
  given: Value,
): readonly [head: string, text: string] {
  if (type === "s" || type === "r" || type === "a") {
    const text = type === "s" ? str(given) : type === "r" ? repr(given) : inAscii(repr(given));
    return ["", digits === undefined ? text : Array.from(text).slice(0, digits).join("")];
  }
  const value = unmarked(given), number = numberOf(value);
  if (type === "c") return ["", character(value)];
  if (number === null) throw new Error(`${whole} of ${typeName(value)} is not possible`);
  const real = number instanceof PyFloat ? number.value : Number(number);
  const positive = flags.includes("+") ? "+" : flags.includes(" ") ? " " : "";
  const lower = type.toLowerCase();
  if (lower === "e" || lower === "f" || lower === "g") {
    const style = { type: lower, digits: digits ?? 6, keepsPoint: flags.includes("#") } as const;
    const text = floatText(Math.abs(real), style);
    const sign = real < 0 || Object.is(real, -0) ? "-" : positive;
    return [sign, type === lower ? text : text.toUpperCase()];
  }
  if ("oxX".includes(type) ? number instanceof PyFloat : !"diu".includes(type)) {
    throw new Error(`${whole} of ${typeName(value)} is not possible`);
  }
  if (!Number.isFinite(real)) throw new Error(`${whole} of ${real} is not possible`);
  const int = number instanceof PyFloat ? BigInt(Math.trunc(real)) : number;
  const text = integerText(int < 0n ? -int : int, type, false).padStart(digits ?? 0, "0");
  const mark = flags.includes("#") && "oxX".includes(type) ? `0${type}` : "";
  return [(int < 0n ? "-" : positive) + mark, text];
}

/** Other characters than ASCII's as escapes. */
function inAscii(text: string): string {
  return text.replace(/[^\p{ASCII}]/gu, (one) => {
    const hex = one.codePointAt(0)!.toString(16);
    if (hex.length <= 2) return `\\x${hex}`;
    return hex.length <= 4 ? `\\u${hex.padStart(4, "0")}` : `\\U${hex.padStart(8, "0")}`;
  });
}

function character(value: Value): string {
  const point = numberOf(value);
  if (typeof point === "bigint" && point >= 0n && point < 0x110000n) {
    return String.fromCodePoint(Number(point));
  }
  if (typeof value === "string" && codePoints(value) === 1) return value;
  throw new Error("%c of a text needs one character");
}

function padded(
  [head, text]: readonly [string, string],
  flags: string,
  width: number,
  type: string,
): string {
  const missing = Math.max(0, Math.abs(width) - codePoints(head + text));
  if (flags.includes("-") || width < 0) return head + text + " ".repeat(missing);
  const isZero = flags.includes("0") && !"srac".includes(type);
  return isZero ? head + "0".repeat(missing) + text : " ".repeat(missing) + head + text;
}
