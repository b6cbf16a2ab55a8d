/** Jinja's filters that give numbers (`int`, `float`, `round`, `abs`), and sizes of files. */
import { asciiDigits, parseFinite } from "../../../../tasks/python/decimals.ts";
import { parseInteger } from "../../../../tasks/python/integers.ts";
import { PyFloat } from "../../../../tasks/python/literals.ts";
import { formatFixed, round } from "../../../../tasks/python/repr.ts";
import { strip } from "../../../../tasks/python/text.ts";
import { takes } from "../call.ts";
import {
  described,
  integer,
  isTrue,
  numberOf,
  typeName,
  Undefined,
  unmarked,
  type Value,
} from "../values.ts";

/** The number of a text, or of a number; null where Python reads none. */
function floatOf(value: Value): number | null {
  if (value instanceof Undefined) throw new Error(`${value.what} is undefined`);
  const number = numberOf(value);
  if (number !== null) return number instanceof PyFloat ? number.value : Number(number);
  if (typeof value !== "string") return null;
  const special = /^([+-]?)(inf|infinity|nan)$/i.exec(strip(value));
  if (special !== null) {
    return /nan/i.test(special[2]!) ? NaN : special[1] === "-" ? -Infinity : Infinity;
  }
  // What is too large for a double is infinite, and not unreadable.
  return /\d__|__\d|_$|^_|_[.e]|[.e]_/i.test(strip(value)) ? null : parseFinite(value);
}

function toFloat(value: Value, other: Value = new PyFloat(0)): Value {
  const number = floatOf(unmarked(value));
  return number === null ? other : new PyFloat(number);
}

function toInt(given: Value, other: Value = 0n, base: Value = 10n): Value {
  const value = unmarked(given);
  if (typeof value === "bigint") return value;
  if (value instanceof PyFloat && Math.abs(value.value) === Infinity) {
    throw new Error("int of an infinite number is not possible");
  }
  const whole = typeof value === "string" ? inBase(value, base) : null;
  if (whole !== null) return whole;
  const number = floatOf(value);
  return number === null || !Number.isFinite(number) ? other : BigInt(Math.trunc(number));
}

const PREFIXES: Readonly<Record<string, bigint>> = { "0x": 16n, "0o": 8n, "0b": 2n };

/** `int(text, base)`; null where Python raises. */
function inBase(text: string, base: Value): bigint | null {
  if (base === 10n) return parseInteger(text);
  if (typeof base !== "bigint" || base < 0n || base === 1n || base > 36n) return null;
  const parts = /^([+-]?)(0[xob]_?)?([0-9a-z]+(?:_[0-9a-z]+)*)$/i.exec(asciiDigits(strip(text)));
  if (parts === null) return null;
  const [, sign, prefix = "", digits] = parts;
  const own = PREFIXES[prefix.slice(0, 2).toLowerCase()];
  // `0b1` in base 16 has no prefix, only digits.
  const isPrefix = own !== undefined && (base === 0n || base === own);
  const all = (isPrefix ? digits! : prefix + digits).replaceAll("_", "").toLowerCase();
  const used = base !== 0n ? base : isPrefix ? own : 10n;
  if (base === 0n && !isPrefix && /^0+[1-9]/.test(all)) return null;
  let number = 0n;
  for (const one of all) {
    const digit = parseInt(one, 36);
    if (digit >= used) return null;
    number = number * used + BigInt(digit);
  }
  return sign === "-" ? -number : number;
}

function absolute(value: Value): Value {
  const number = numberOf(value);
  if (number === null) throw new Error(`abs of ${described(value)} is not possible`);
  if (number instanceof PyFloat) return new PyFloat(Math.abs(number.value));
  return number < 0n ? -number : number;
}

function rounded(value: Value, precision: Value = 0n, how: Value = "common"): Value {
  if (how !== "common" && how !== "ceil" && how !== "floor") {
    throw new Error("round's method is not common, ceil or floor");
  }
  const number = numberOf(value);
  if (number === null) throw new Error(`round of ${described(value)} is not possible`);
  const isWhole = precision === null && how === "common";
  const digits = isWhole ? 0 : integer(precision, "round's precision");
  if (digits < -300 || digits > 99) throw new Error(`round to ${digits} digits is not supported`);
  if (how === "common") {
    if (typeof number === "bigint") return digits >= 0 ? number : roundedInteger(number, -digits);
    if (isWhole && !Number.isFinite(number.value)) throw new Error("round of no finite number");
    const result = round(number.value, digits);
    return isWhole ? BigInt(result) : new PyFloat(result);
  }
  const scale = 10 ** digits, real = number instanceof PyFloat ? number.value : Number(number);
  if (!Number.isFinite(real * scale)) throw new Error(`round of ${real} is not possible`);
  return new PyFloat((Math[how](real * scale) + 0) / scale);
}

/** To a multiple of 10^digits; what lies in the middle goes to the even one. */
function roundedInteger(number: bigint, digits: number): bigint {
  const step = 10n ** BigInt(digits), size = number < 0n ? -number : number;
  const rest = size % step;
  let quotient = size / step;
  if (rest * 2n > step || (rest * 2n === step && quotient % 2n === 1n)) quotient++;
  return quotient * step * (number < 0n ? -1n : 1n);
}

function fileSize(value: Value, binary: Value = false): Value {
  const bytes = floatOf(unmarked(value)), isBinary = isTrue(binary);
  if (bytes === null) throw new Error(`a size of ${typeName(value)} is not possible`);
  const base = isBinary ? 1024 : 1000, units = isBinary ? "KMGTPEZY" : "kMGTPEZY";
  if (bytes === 1) return "1 Byte";
  if (bytes < base) return `${Math.trunc(bytes)} Bytes`;
  const found = Array.from(units, (_, i) => base ** (i + 2)).findIndex((unit) => bytes < unit);
  const at = found < 0 ? units.length - 1 : found;
  return `${formatFixed(base * bytes / base ** (at + 2), 1)} ${units[at]}${isBinary ? "i" : ""}B`;
}

export const NUMBER_FILTERS = {
  abs: takes("", absolute),
  round: takes("[precision] [method]", rounded),
  int: takes("[default] [base]", toInt),
  float: takes("[default]", toFloat),
  filesizeformat: takes("[binary]", fileSize),
};
