/** Looks for parts of a text one after the other, as the patterns of open-r1's rewards do. */

/**
 * Whether a text begins with `start`, then has all `parts` and `end` in this order without
 * overlaps, with any text between them, and `end` is at the end of a line. Each part is taken at
 * its first place: if a later one fits, this one does too. So it needs no backtracking.
 */
export function hasInOrder(
  text: string,
  start: string,
  parts: readonly string[],
  end: string,
): boolean {
  if (!text.startsWith(start)) return false;
  let at = start.length;
  for (const part of parts) {
    const found = text.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  for (let found = text.indexOf(end, at); found >= 0; found = text.indexOf(end, found + 1)) {
    const next = text[found + end.length];
    if (next === undefined || next === "\n") return true;
  }
  return false;
}
