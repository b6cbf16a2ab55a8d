/**
 * White space and text length as Python defines them, because scores depend on them. In contrast to
 * Python, JavaScript's `trim` and `\s` include U+FEFF and exclude U+001C–001F and U+0085, and its
 * `length` counts UTF-16 units.
 */

/** The characters of `str.isspace`, to be put into a character class of a regular expression. */
export const PYTHON_SPACE = "\\u0009-\\u000d\\u001c-\\u0020\\u0085\\u00a0\\u1680\\u2000-\\u200a" +
  "\\u2028\\u2029\\u202f\\u205f\\u3000";

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

/**
 * `str.rstrip()`. A loop from the end, because a regular expression would also try earlier runs.
 */
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

/** `str.split()`: the words between white space; at most the first `limit` of them. */
export function words(text: string, limit = Infinity): string[] {
  const found: string[] = [];
  for (let at = 0; at < text.length && found.length < limit; at++) {
    if (isSpaceCode(text.charCodeAt(at))) continue;
    const start = at;
    while (at < text.length && !isSpaceCode(text.charCodeAt(at))) at++;
    found.push(text.slice(start, at));
  }
  return found;
}

/** `len(str)`: the number of code points. */
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
