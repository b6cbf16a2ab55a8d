/**
 * Decimal numbers in model text, as Python's `decimal.Decimal` reads them. They are compared exactly,
 * digit by digit, and not as doubles.
 */
import { strip } from "./text.ts";

/** A finite decimal number in normal form: digits × 10^exponent without trailing zeros; 0 is "0", 0. */
export interface Decimal {
  negative: boolean;
  digits: string;
  exponent: number;
}

const DECIMAL = /^([+-]?)(?=[0-9]|\.[0-9])([0-9]*)(?:\.([0-9]*))?(?:e([+-]?[0-9]+))?$/i;

/** The double that the text stands for; null when it is no decimal number or beyond the doubles. */
export function parseFinite(text: string): number | null {
  const parts = parseDecimal(text);
  if (parts === null) return null;
  const value = Number(`${parts.negative ? "-" : ""}${parts.digits}e${parts.exponent}`);
  return Number.isFinite(value) ? value : null;
}

/**
 * What `decimal.Decimal(text)` reads: surrounding space, underscores, a sign, an exponent and the digits of
 * any script. null for anything else, also for infinities and NaN (they equal no oracle) and texts that are
 * far longer than any answer.
 */
export function parseDecimal(text: string): Decimal | null {
  if (text.length > LONGEST) return null;
  const match = DECIMAL.exec(asciiDigits(strip(text).replaceAll("_", "")));
  if (match === null) return null;
  const fraction = match[3] ?? "";
  const all = (match[2]! + fraction).replace(/^0+/, "");
  let end = all.length;
  while (all[end - 1] === "0") end--;
  const digits = all.slice(0, end);
  if (digits === "") return { negative: false, digits: "0", exponent: 0 };
  const exponent = Number(match[4] ?? 0) - fraction.length + all.length - digits.length;
  if (!Number.isSafeInteger(exponent)) return null;
  return { negative: match[1] === "-", digits, exponent };
}

export function equalDecimals(a: Decimal, b: Decimal): boolean {
  return a.negative === b.negative && a.digits === b.digits && a.exponent === b.exponent;
}

/**
 * Digits of other scripts as 0–9 (Unicode keeps the tens of a script in one run that begins with a zero).
 * A text with other characters beyond ASCII, and an endless one, is returned as it is: it is no number.
 */
export function asciiDigits(text: string): string {
  if (ASCII.test(text) || text.length > LONGEST || NO_DIGIT.test(text)) return text;
  let result = "";
  for (const character of text) {
    if (character <= "\u007f") {
      result += character;
      continue;
    }
    let digit = digitOf.get(character);
    if (digit === undefined) {
      const point = character.codePointAt(0)!;
      let start = point;
      while (isDigit(String.fromCodePoint(start - 1))) start--;
      digit = String((point - start) % 10);
      digitOf.set(character, digit);
    }
    result += digit;
  }
  return result;
}

const ASCII = /^\p{ASCII}*$/u;
/** In characters; more of other scripts would take too long for what no answer contains. */
const LONGEST = 50_000;
const NO_DIGIT = /[^\p{ASCII}\p{Nd}]/u;
/** The digits of other scripts that were met so far. */
const digitOf = new Map<string, string>();

function isDigit(character: string): boolean {
  return /^\p{Nd}$/u.test(character);
}
