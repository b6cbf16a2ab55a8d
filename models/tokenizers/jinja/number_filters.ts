/** Jinja's filters that give numbers: `int`, `float`, `round`, `abs`. */
import { parseFinite } from "../../../tasks/python/decimals.ts";
import { parseInteger } from "../../../tasks/python/integers.ts";
import { PyFloat } from "../../../tasks/python/literals.ts";
import { round } from "../../../tasks/python/repr.ts";
import { strip } from "../../../tasks/python/text.ts";
import { bind } from "./call.ts";
import {
  type Call,
  described,
  integer,
  numberOf,
  text,
  typeName,
  Undefined,
  type Value,
} from "./values.ts";

/** The number of a text, or of a number; null where Python reads none. */
function floatOf(value: Value): number | null {
  if (value instanceof Undefined) throw new Error(`${value.what} is undefined`);
  const number = numberOf(value);
  if (number !== null) return number instanceof PyFloat ? number.value : Number(number);
  if (typeof value !== "string") return null;
  const special = /^([+-]?)(inf|infinity|nan)$/i.exec(strip(value));
  if (special === null) return parseFinite(value);
  return /nan/i.test(special[2]!) ? NaN : special[1] === "-" ? -Infinity : Infinity;
}

export function toFloat(value: Value, given: Call): Value {
  const [other = new PyFloat(0)] = bind("float", given, ["default"]);
  const number = floatOf(value);
  return number === null ? other : new PyFloat(number);
}

export function toInt(value: Value, given: Call): Value {
  const [other = 0n, base = 10n] = bind("int", given, ["default", "base"]);
  if (base !== 10n) throw new Error("int with a base is not supported");
  if (typeof value === "bigint") return value;
  const whole = typeof value === "string" ? parseInteger(value) : null;
  if (whole !== null) return whole;
  const number = floatOf(value);
  return number === null || !Number.isFinite(number) ? other : BigInt(Math.trunc(number));
}

export function absolute(value: Value, given: Call): Value {
  bind("abs", given, []);
  const number = numberOf(value);
  if (number === null) throw new Error(`abs of ${described(value)} is not possible`);
  if (number instanceof PyFloat) return new PyFloat(Math.abs(number.value));
  return number < 0n ? -number : number;
}

export function rounded(value: Value, given: Call): Value {
  const [precision = 0n, method = "common"] = bind("round", given, ["precision", "method"]);
  const digits = integer(precision, "round's precision"), how = text(method, "round's method");
  const number = numberOf(value);
  if (number === null) throw new Error(`round of ${described(value)} is not possible`);
  if (digits < 0 || digits > 99) throw new Error(`round to ${digits} digits is not supported`);
  if (how === "common") {
    return typeof number === "bigint" ? number : new PyFloat(round(number.value, digits));
  }
  if (how !== "ceil" && how !== "floor") {
    throw new Error(`round's method is ${typeName(method)} ${how}, expected common, ceil or floor`);
  }
  const scale = 10 ** digits, real = number instanceof PyFloat ? number.value : Number(number);
  return new PyFloat(Math[how](real * scale) / scale);
}
