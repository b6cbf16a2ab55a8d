/**
 * Reads integers like Python's `int`: surrounding white space, a sign, single underscores between
 * digits, and the digits of any script. Texts far longer than any right answer are refused unread.
 */
import { asciiDigits } from "./decimals.ts";
import { strip } from "./text.ts";

/** Python refuses integers with more decimal digits. */
const MAX_DIGITS = 4300;
/**
 * Maximum length of a text: as many digits of two UTF-16 units each, and underscores between them.
 */
const MAX_LENGTH = 3 * MAX_DIGITS + 100;

const DECIMAL = /^([+-]?)([0-9]+(?:_[0-9]+)*)$/;
const LITERAL =
  /^([+-]?)(0x(?:_?[0-9a-f])+|0o(?:_?[0-7])+|0b(?:_?[01])+|0(?:_?0)*|[1-9](?:_?[0-9])*)$/i;

/** `int(text)`, or null where Python raises. */
export function parseInteger(text: string): bigint | null {
  return read(DECIMAL, text);
}

/**
 * `int(text, 0)`: also 0x, 0o and 0b, but no leading zeros in decimal. Null where Python raises.
 */
export function parseIntegerLiteral(text: string): bigint | null {
  return read(LITERAL, text);
}

function read(pattern: RegExp, text: string): bigint | null {
  const trimmed = strip(text);
  if (trimmed.length > MAX_LENGTH) return null;
  const match = pattern.exec(asciiDigits(trimmed));
  if (match === null) return null;
  const digits = match[2]!.replaceAll("_", "");
  if (digits.length > MAX_DIGITS) return null;
  const size = BigInt(digits);
  return match[1] === "-" ? -size : size;
}
