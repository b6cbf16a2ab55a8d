/**
 * Writes sums as text: `3*x**4/2 - x + 7`, without zero terms, factors of one and doubled signs.
 */

/**
 * The term numerator / denominator · factor / below. An empty factor is 1. The denominator is
 * positive.
 */
export interface Part {
  numerator: number | bigint;
  denominator?: number | bigint;
  factor: string;
  /** A further divisor beside the denominator, such as `x**2`. */
  below?: string;
}

/**
 * Writes the sum of the parts; "0" when all are zero. Two parts are swapped to avoid a leading
 * minus: 5 - x instead of -x + 5.
 */
export function sumText(parts: readonly Part[]): string {
  const left = parts.filter((part) => part.numerator != 0);
  if (left.length === 2 && left[0]!.numerator < 0 && left[1]!.numerator > 0) {
    if (left[1]!.factor === "" && left[1]!.below === undefined) left.reverse();
  }
  let text = "";
  for (const part of left) {
    const negative = part.numerator < 0;
    if (text === "") text = negative ? "-" : "";
    else text += negative ? " - " : " + ";
    text += partText(part);
  }
  return text === "" ? "0" : text;
}

function partText({ numerator, denominator = 1, factor, below = "" }: Part): string {
  const size = numerator < 0 ? -numerator : numerator;
  const top = factor === "" ? String(size) : size == 1 ? factor : `${size}*${factor}`;
  const bottom = denominator == 1
    ? below
    : below === ""
    ? String(denominator)
    : `${denominator}*${below}`;
  if (bottom === "") return top;
  return bottom.includes("*") && denominator != 1 ? `${top}/(${bottom})` : `${top}/${bottom}`;
}

/** Writes x**n; "" for n = 0. */
export function powerText(name: string, exponent: number): string {
  if (exponent === 0) return "";
  return exponent === 1 ? name : `${name}**${exponent}`;
}

/** n/d · factor in lowest terms, for safe integers with d ≠ 0. */
export function fraction(n: number, d: number, factor: string, below?: string): Part {
  let a = Math.abs(n), b = Math.abs(d);
  while (b !== 0) [a, b] = [b, a % b];
  const sign = d < 0 ? -1 : 1, common = a === 0 ? 1 : a;
  const part = { numerator: sign * n / common + 0, denominator: sign * d / common, factor };
  return below === undefined ? part : { ...part, below };
}

/** The notation that all questions of this category ask for. */
export const NOTATION =
  "Write powers as ** (7*x**2, not 7*x^2) and every product with * (3*x, not 3x).";
