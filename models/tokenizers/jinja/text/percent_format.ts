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
import { floatOf, integerText, padded, type Spec } from "./specifications.ts";

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
      return directive(whole, value, specOf(type, flags, size, limit));
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

/** A directive as a specification; zeros fill numbers only. */
function specOf(type: string, flags: string, width: number, precision: number | undefined): Spec {
  const isLeft = flags.includes("-") || width < 0;
  const isZero = flags.includes("0") && !isLeft && !"srac".includes(type);
  return {
    fill: isZero ? "0" : " ",
    align: isLeft ? "<" : isZero ? "=" : ">",
    sign: flags.includes("+") ? "+" : flags.includes(" ") ? " " : "-",
    isMarked: flags.includes("#"),
    width: Math.abs(width),
    group: undefined,
    precision,
    type,
  };
}

function directive(whole: string, given: Value, spec: Spec): string {
  const { precision } = spec, type = spec.type!;
  if (type === "s" || type === "r" || type === "a") {
    const text = type === "s" ? str(given) : type === "r" ? repr(given) : inAscii(repr(given));
    const cut = precision === undefined ? text : Array.from(text).slice(0, precision).join("");
    return padded("", cut, spec, ">");
  }
  const value = unmarked(given), number = numberOf(value);
  if (type === "c") return padded("", character(value), spec, ">");
  const notPossible = () => new Error(`${whole} of ${typeName(value)} is not possible`);
  if (number === null) throw notPossible();
  const isFloat = number instanceof PyFloat, real = isFloat ? number.value : Number(number);
  if ("efg".includes(type.toLowerCase())) return floatOf(real, spec);
  if ("oxX".includes(type) ? isFloat : !"diu".includes(type)) throw notPossible();
  if (!Number.isFinite(real)) throw new Error(`${whole} of ${real} is not possible`);
  return integerText(isFloat ? BigInt(Math.trunc(real)) : number, spec, precision);
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
