/**
 * Reads decimal numbers like Python's `decimal.Decimal`. They are compared exactly, not as doubles.
 */
import { strip } from "./text.ts";

/**
 * A finite number digits × 10^exponent. `digits` has no trailing zeros; zero is "0" with exponent
 * 0.
 */
export interface Decimal {
  negative: boolean;
  digits: string;
  exponent: number;
}

const DECIMAL = /^([+-]?)(?=[0-9]|\.[0-9])([0-9]*)(?:\.([0-9]*))?(?:e([+-]?[0-9]+))?$/i;

/**
 * Returns the double for this text; null when it is no decimal number or too large for a double.
 */
export function parseFinite(text: string): number | null {
  const parts = parseDecimal(text);
  if (parts === null) return null;
  const value = Number(`${parts.negative ? "-" : ""}${parts.digits}e${parts.exponent}`);
  return Number.isFinite(value) ? value : null;
}

/**
 * Reads what `decimal.Decimal(text)` accepts: surrounding space, underscores, a sign, an exponent
 * and the digits of any script. Returns null for anything else, and also for infinities and NaN (no
 * oracle equals them) and for texts that are far longer than any answer.
 */
export function parseDecimal(text: string): Decimal | null {
  if (text.length > MAX_LENGTH) return null;
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
 * Replaces digits of other scripts by 0–9. In Unicode the digits of a script form runs of ten that
 * begin with a zero. A text with other non-ASCII characters, or an overlong one, is returned
 * unchanged, since it is no number.
 */
export function asciiDigits(text: string): string {
  if (ASCII.test(text) || text.length > MAX_LENGTH || NO_DIGIT.test(text)) return text;
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
/**
 * In characters. Converting more digits of other scripts would take too long; no answer needs it.
 */
const MAX_LENGTH = 50_000;
const NO_DIGIT = /[^\p{ASCII}\p{Nd}]/u;
/** Cache of the digits of other scripts. */
const digitOf = new Map<string, string>();

function isDigit(character: string): boolean {
  return /^\p{Nd}$/u.test(character);
}
