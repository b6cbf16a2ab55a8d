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
