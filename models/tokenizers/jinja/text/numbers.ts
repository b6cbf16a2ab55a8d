/** Numbers as Python's format specifications write them, without sign and width. */
import { formatExponent, formatFixed, reprFloat } from "../../../../tasks/python/repr.ts";

/** Digits after the point, and significant ones, that are written at most. */
const MAX_DIGITS = 50;

export interface FloatStyle {
  readonly type: "e" | "f" | "g";
  readonly digits: number;
  /** `#`: the point and zeros at the end stay. */
  readonly keepsPoint?: boolean;
  /** At least one digit after the point, as in `repr`. */
  readonly withZero?: boolean;
}

/** @param size not negative */
export function floatText(
  size: number,
  { type, digits, keepsPoint, withZero }: FloatStyle,
): string {
  if (!Number.isFinite(size)) return Number.isNaN(size) ? "nan" : "inf";
  if (digits > MAX_DIGITS) throw new Error(`a number with ${digits} digits is not supported`);
  const isKept = keepsPoint === true;
  if (type === "f") return withPoint(formatFixed(size, digits), isKept);
  if (type === "e") return withPoint(formatExponent(size, digits), isKept);
  const significant = Math.max(1, digits), scientific = formatExponent(size, significant - 1);
  const exponent = Number(scientific.split("e")[1]);
  const limit = significant - (withZero === true ? 1 : 0);
  if (exponent < -4 || exponent >= limit) {
    return isKept ? withPoint(scientific, true) : withoutZeros(scientific);
  }
  const fixed = formatFixed(size, significant - 1 - exponent);
  if (isKept) return withPoint(fixed, true);
  const short = withoutZeros(fixed);
  return withZero === true && !short.includes(".") ? `${short}.0` : short;
}

/** `repr` of a float that is not negative. */
export function shortText(size: number): string {
  return reprFloat(size);
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

/** The digits of a whole number that is not negative, with the mark of `#`. */
export function integerText(size: bigint, type: string, isMarked: boolean): string {
  const base = { b: 2, o: 8, x: 16, X: 16 }[type] ?? 10;
  const digits = size.toString(base), mark = isMarked && base !== 10 ? `0${type}` : "";
  return mark + (type === "X" ? digits.toUpperCase() : digits);
}
