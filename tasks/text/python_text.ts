/**
 * Python's notions of text that are part of scores: white space, length in code points, decimal
 * numbers. JavaScript's `trim` and `\s` know U+FEFF and lack U+001C–001F and U+0085, and its `length`
 * counts UTF-16 units.
 */

/** The characters of `str.isspace`, for use inside a regular expression's class. */
export const PYTHON_SPACE =
  "\\u0009-\\u000d\\u001c-\\u0020\\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";

const LEADING = new RegExp(`^[${PYTHON_SPACE}]+`);

/** Whether the (first) character is white space. */
export function isSpace(character: string): boolean {
  return isSpaceCode(character.charCodeAt(0));
}

/** Whether a UTF-16 unit is white space. */
export function isSpaceCode(code: number): boolean {
  if (code <= 32) return code >= 28 || (code >= 9 && code <= 13);
  if (code < 0x1680) return code === 0x85 || code === 0xa0;
  return code === 0x1680 || (code >= 0x2000 && code <= 0x200a) || code === 0x2028 ||
    code === 0x2029 || code === 0x202f || code === 0x205f || code === 0x3000;
}

/** `str.rstrip()`: from the end by hand, since a regular expression would look at every run before it. */
export function stripEnd(text: string): string {
  let end = text.length;
  while (end > 0 && isSpaceCode(text.charCodeAt(end - 1))) end--;
  return text.slice(0, end);
}

/** `str.strip()`. */
export function strip(text: string): string {
  return stripEnd(text).replace(LEADING, "");
}

export function isBlank(text: string): boolean {
  return strip(text) === "";
}

/** `str.split()`: the words between white space, or the first `most` of them. */
export function words(text: string, most = Infinity): string[] {
  const found: string[] = [];
  for (let at = 0; at < text.length && found.length < most; at++) {
    if (isSpaceCode(text.charCodeAt(at))) continue;
    const start = at;
    while (at < text.length && !isSpaceCode(text.charCodeAt(at))) at++;
    found.push(text.slice(start, at));
  }
  return found;
}

/** `len(str)`: code points. */
export function codePoints(text: string): number {
  let count = text.length;
  for (let i = 0; i + 1 < text.length; i++) {
    const high = text.charCodeAt(i), low = text.charCodeAt(i + 1);
    if (high >= 0xd800 && high < 0xdc00 && low >= 0xdc00 && low < 0xe000) {
      count--;
      i++;
    }
  }
  return count;
}

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
