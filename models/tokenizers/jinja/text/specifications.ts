/**
 * Python's `format(value, specification)`, such as `>10`, `.2f` or `,`, and its parts, of which
 * `text % values` is made too.
 */
import { PyFloat } from "../../../../tasks/python/literals.ts";
import { formatExponent, formatFixed, reprFloat } from "../../../../tasks/python/repr.ts";
import { codePoints } from "../../../../tasks/python/text.ts";
import { numberOf, str, typeName, unmarked, type Value } from "../values.ts";

/** Digits after the point, and significant ones, that are written at most. */
const MAX_DIGITS = 50;

const SPEC =
  /^(?:(.)?([<>=^]))?([-+ ])?(z)?(#)?(0)?(\d{0,6})([,_])?(?:\.(\d{1,3}))?([a-zA-Z%])?$/su;

export interface Spec {
  readonly fill: string;
  readonly align: string | undefined;
  readonly sign: string;
  /** `#`: the mark of a base, or the point and zeros at the end of a float, stay. */
  readonly isMarked: boolean;
  readonly width: number;
  readonly group: string | undefined;
  readonly precision: number | undefined;
  readonly type: string | undefined;
}

/** @throws Error for a specification that the value does not take */
export function formatted(given: Value, specification: string): string {
  if (specification === "") return str(given);
  const value = unmarked(given), spec = parsed(specification);
  if (typeof value === "string") return textOf(value, spec);
  const number = numberOf(value);
  if (number === null) throw new Error(`${typeName(value)} has no format ${specification}`);
  const isFloat = number instanceof PyFloat || "eEfFgG%".includes(spec.type ?? "?");
  if (!isFloat) return integerOf(number as bigint, spec);
  return floatOf(number instanceof PyFloat ? number.value : Number(number), spec);
}

function parsed(specification: string): Spec {
  const parts = SPEC.exec(specification);
  if (parts === null || parts[4] !== undefined) {
    throw new Error(`the format ${specification} cannot be read`);
  }
  const [, fill, align, sign = "-", , mark, zero, width, group, precision, type] = parts;
  return {
    fill: fill ?? (zero === undefined ? " " : "0"),
    align: align ?? (zero === undefined ? undefined : "="),
    sign,
    isMarked: mark !== undefined,
    width: Number(width),
    group,
    precision: precision === undefined ? undefined : Number(precision),
    type,
  };
}

function textOf(value: string, spec: Spec): string {
  const { type = "s", precision, align = "<", group, isMarked } = spec;
  if (type !== "s" || align === "=" && spec.fill !== "0" || group !== undefined || isMarked) {
    throw new Error("a text is formatted as a number");
  }
  if (spec.sign !== "-") throw new Error("a text has no sign");
  const cut = precision === undefined ? value : Array.from(value).slice(0, precision).join("");
  return padded("", cut, { ...spec, align: align === "=" ? "<" : align }, "<");
}

function integerOf(number: bigint, spec: Spec): string {
  const { type = "d", precision, group } = spec;
  if (precision !== undefined) throw new Error("an int has no precision");
  if (type === "c") return padded("", String.fromCodePoint(Number(number)), spec, "<");
  if (!"bdoxXn".includes(type)) throw new Error(`an int has no format ${type}`);
  if (group === "," && type !== "d") throw new Error(`a comma does not go with ${type}`);
  return integerText(number, spec);
}

/** @param digits at least so many are written */
export function integerText(number: bigint, spec: Spec, digits = 0): string {
  const { type = "d", isMarked } = spec, size = number < 0n ? -number : number;
  const base = { b: 2, o: 8, x: 16, X: 16 }[type] ?? 10;
  const mark = isMarked && base !== 10 ? `0${type}` : "";
  const text = size.toString(base).padStart(digits, "0");
  return signed(mark, type === "X" ? text.toUpperCase() : text, number < 0n, spec);
}

export function floatOf(real: number, spec: Spec): string {
  const isNegative = real < 0 || Object.is(real, -0);
  return signed("", sizeText(Math.abs(real), spec), isNegative, spec);
}

function sizeText(size: number, { type, precision, isMarked }: Spec): string {
  if (type === undefined) {
    if (precision === undefined) return reprFloat(size);
    return digitsOf("g", size, precision, isMarked, true);
  }
  const digits = precision ?? 6, kind = type.toLowerCase();
  if (kind === "%") return `${digitsOf("f", size * 100, digits, isMarked)}%`;
  if (!"efgn".includes(kind)) throw new Error(`a float has no format ${type}`);
  const text = digitsOf(kind === "n" ? "g" : kind, size, digits, isMarked);
  return type === kind ? text : text.toUpperCase();
}

/**
 * The digits of a number that is not negative, as the types e, f and g write them.
 * @param withZero at least one digit stands after the point, as in `repr`
 */
function digitsOf(
  type: string,
  size: number,
  digits: number,
  keepsPoint: boolean,
  withZero = false,
): string {
  if (!Number.isFinite(size)) return Number.isNaN(size) ? "nan" : "inf";
  if (digits > MAX_DIGITS) throw new Error(`a number with ${digits} digits is not supported`);
  if (type === "f") return withPoint(formatFixed(size, digits), keepsPoint);
  if (type === "e") return withPoint(formatExponent(size, digits), keepsPoint);
  const significant = Math.max(1, digits), scientific = formatExponent(size, significant - 1);
  const exponent = Number(scientific.split("e")[1]);
  if (exponent < -4 || exponent >= significant - (withZero ? 1 : 0)) {
    return keepsPoint ? withPoint(scientific, true) : withoutZeros(scientific);
  }
  const fixed = formatFixed(size, significant - 1 - exponent);
  if (keepsPoint) return withPoint(fixed, true);
  const short = withoutZeros(fixed);
  return withZero && !short.includes(".") ? `${short}.0` : short;
}

function withoutZeros(text: string): string {
  const [mantissa, exponent] = text.split("e");
  const short = mantissa!.includes(".") ? mantissa!.replace(/\.?0+$/, "") : mantissa!;
  return exponent === undefined ? short : `${short}e${exponent}`;
}

function withPoint(text: string, isKept: boolean): string {
  if (!isKept || text.includes(".")) return text;
  return text.includes("e") ? text.replace("e", ".e") : `${text}.`;
}

/** With sign, groups of digits and blanks. */
function signed(mark: string, rest: string, isNegative: boolean, spec: Spec): string {
  const sign = isNegative ? "-" : spec.sign === "-" ? "" : spec.sign, head = sign + mark;
  if (spec.group === undefined) return padded(head, rest, spec, ">");
  const size = mark === "" && !"boxX".includes(spec.type ?? "d") ? 3 : 4;
  const whole = (size === 4 ? /^[0-9a-f]*/i : /^[0-9]*/).exec(rest)![0];
  const after = rest.slice(whole.length);
  let all = whole;
  // Zeros that fill the width are grouped too.
  if (spec.fill === "0" && spec.align === "=") {
    const goal = spec.width - head.length - after.length;
    let length = Math.floor(goal * size / (size + 1));
    while (length + Math.floor((length - 1) / size) < goal) length++;
    all = all.padStart(length, "0");
  }
  return padded(head, grouped(all, size, spec.group) + after, spec, ">");
}

function grouped(digits: string, size: number, separator: string): string {
  const first = digits.length % size;
  const groups = digits.slice(first).match(new RegExp(`.{${size}}`, "g")) ?? [];
  return [...first > 0 ? [digits.slice(0, first)] : [], ...groups].join(separator);
}

/** @param usual where a value goes without an alignment */
export function padded(
  head: string,
  text: string,
  { fill, align, width }: Spec,
  usual: string,
): string {
  const missing = Math.max(0, width - codePoints(head + text)), how = align ?? usual;
  if (how === "=") return head + fill.repeat(missing) + text;
  const before = how === "<" ? 0 : how === ">" ? missing : Math.floor(missing / 2);
  return fill.repeat(before) + head + text + fill.repeat(missing - before);
}
