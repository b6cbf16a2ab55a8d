/**
 * Writes values like Python: `repr`, `str`, `round(x, n)` and the formats `.nf` and `.ne`. Rounding
 * uses the exact value of the double and takes the even digit on a tie; `toFixed` takes the larger
 * one.
 */
import { type Literal, PyDict, PyFloat, PyTuple } from "./literals.ts";

/**
 * `repr(x)` of a float: shortest digits, `.0` for whole numbers, an exponent below 1e-4 and from
 * 1e16.
 */
export function reprFloat(x: number): string {
  if (Number.isNaN(x)) return "nan";
  if (!Number.isFinite(x)) return x < 0 ? "-inf" : "inf";
  if (Number.isInteger(x) && Math.abs(x) < 1e16) return `${Object.is(x, -0) ? "-0" : x}.0`;
  const size = Math.abs(x);
  if (size >= 1e-4 && size < 1e16) return String(x);
  return twoDigitExponent(x.toExponential());
}

/**
 * `repr` of a string: in single quotes, unless it contains those and no double quotes; unprintable
 * characters are escaped.
 */
export function reprString(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const escaped = text.replace(/[\\'"]|[\p{C}\p{Z}]/gu, (character) => {
    if (character === " ") return character;
    if (character === "'" || character === '"') {
      return character === quote ? "\\" + character : character;
    }
    const short = { "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t" }[character];
    if (short !== undefined) return short;
    const point = character.codePointAt(0)!, hex = point.toString(16);
    if (point < 0x100) return "\\x" + hex.padStart(2, "0");
    return point < 0x10000 ? "\\u" + hex.padStart(4, "0") : "\\U" + hex.padStart(8, "0");
  });
  return quote + escaped + quote;
}

/**
 * `repr(value)`. Whole numbers are written as an int; numbers with a fraction, and every `PyFloat`,
 * as a float.
 */
export function repr(value: Literal): string {
  if (typeof value === "number") return Number.isInteger(value) ? int(value) : reprFloat(value);
  return reprOr(value, repr, () => ""); // there is no other kind
}

/**
 * `repr(value)` of None, a bool, an int as bigint, a string, a float, a list, a tuple and a dict.
 * @param inner writes the items of a list, a tuple or a dict
 * @param other writes any other value
 */
export function reprOr<T>(
  value: T | Literal,
  inner: (value: T | Literal) => string,
  other: () => string,
): string {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "string") return reprString(value);
  if (typeof value === "bigint") return String(value);
  if (value instanceof PyFloat) return reprFloat(value.value);
  if (Array.isArray(value)) return `[${value.map(inner).join(", ")}]`;
  if (value instanceof PyTuple) {
    const items = value.items.map(inner);
    return items.length === 1 ? `(${items[0]},)` : `(${items.join(", ")})`;
  }
  if (value instanceof PyDict) {
    return `{${value.entries.map(([key, item]) => `${inner(key)}: ${inner(item)}`).join(", ")}}`;
  }
  return other();
}

/** `str(value)`: a string unchanged, anything else as its `repr`. */
export function str(value: Literal): string {
  return typeof value === "string" ? value : repr(value);
}

function int(value: number): string {
  return Number.isSafeInteger(value) ? String(value === 0 ? 0 : value) : String(BigInt(value));
}

/** `format(x, ".{digits}f")` for 0 ≤ digits ≤ 99. */
export function formatFixed(x: number, digits: number): string {
  if (!Number.isFinite(x)) return reprFloat(x);
  const size = Math.abs(x), sign = x < 0 || Object.is(x, -0) ? "-" : "";
  if (size >= 1e21) return sign + BigInt(size) + (digits > 0 ? "." + "0".repeat(digits) : "");
  // Only a multiple of 2^-(digits + 1) can be exactly halfway between two results.
  if (Number.isInteger(size * 2 ** (digits + 1))) {
    const exact = size.toFixed(digits + 1);
    if (exact.endsWith("5") && "02468".includes(exact.at(exact.at(-2) === "." ? -3 : -2)!)) {
      return sign + exact.slice(0, digits === 0 ? -2 : -1);
    }
  }
  return sign + size.toFixed(digits);
}

/** `format(x, ".{digits}e")` for 0 ≤ digits ≤ 50. */
export function formatExponent(x: number, digits: number): string {
  if (!Number.isFinite(x)) return reprFloat(x);
  const size = Math.abs(x), sign = x < 0 || Object.is(x, -0) ? "-" : "";
  // The value can be exactly halfway between two results only if one more digit ends in 5.
  const oneMore = size.toExponential(digits + 1), end = digits === 0 ? 1 : digits + 2;
  if (oneMore[digits + 2] === "5") {
    const [mantissa, exponent] = size.toExponential(100).split("e") as [string, string];
    const rest = mantissa.slice(end).replace(".", "");
    if (/^50*$/.test(rest) && "02468".includes(mantissa[end - 1]!)) {
      return sign + twoDigitExponent(`${mantissa.slice(0, end)}e${exponent}`);
    }
  }
  return sign + twoDigitExponent(size.toExponential(digits));
}

/** `round(x, digits)` for −308 ≤ digits ≤ 99. */
export function round(x: number, digits = 0): number {
  if (!Number.isFinite(x)) return x;
  if (digits >= 0) return Number(formatFixed(x, digits));
  const size = Math.abs(x), whole = BigInt(Math.floor(size)), step = 10n ** BigInt(-digits);
  const twice = whole % step * 2n, fraction = size > Math.floor(size);
  let quotient = whole / step;
  if (twice > step || (twice === step && (fraction || quotient % 2n === 1n))) quotient++;
  const result = Number(quotient * step);
  return x < 0 || Object.is(x, -0) ? -result : result;
}

function twoDigitExponent(text: string): string {
  return text.replace(/e([+-])([0-9])$/, "e$10$2");
}
