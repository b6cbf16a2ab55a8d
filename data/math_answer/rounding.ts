/** Values with their rounded forms: 2√5 ≈ 4.47. */
import { isBlank } from "../../tasks/python/text.ts";
import { call, type Expr, minus, number } from "./formulas/expression.ts";
import { compareNumbers } from "./formulas/same_number.ts";

/** Stands between a value and the same value rounded, or before a value. */
const ROUNDED = /\\(?:approx|simeq|thickapprox)(?![A-Za-z])|≈|\bapprox(?:imately|\.)/i;
/** A name before the sign, as in x ≈ 2; π and e are numbers. */
const NAME = /^[\s$(]*(?:(?!e[\s$]*$)[A-Za-z]+|\\(?!pi)[a-z]+)[\s$]*$/;

/** The parts of a text with an approximation sign, without names and words; null without a sign. */
export function splitRounded(text: string): string[] | null {
  const parts = text.split(ROUNDED);
  if (parts.length < 2) return null;
  return parts.filter((part, i) => !isBlank(part) && !(i === 0 && NAME.test(part)));
}

/** Whether a decimal or a whole number is a value rounded to the number's last digit. */
export function isRoundingOf(rounded: Expr, value: Expr): boolean {
  const literal = rounded.kind === "call" && rounded.name === "negate" ? rounded.args[0]! : rounded;
  if (literal.kind !== "number") return false;
  const half = number(1n, 2n * 10n ** BigInt(Math.max(0, literal.digits?.after ?? 0)));
  const error = minus(value, rounded);
  const [high, low] = [compareNumbers(error, half), compareNumbers(call("negate", error), half)];
  return high !== null && low !== null && high <= 0 && low <= 0;
}
