/** Reads answers that are Python lists. Overlong answers are refused, since parsing is costly. */
import { type Literal, parseLiteral, PyTuple } from "../../python/literals.ts";

/**
 * Whether an answer is far longer than the right one can be in any notation. Such answers score 0
 * without being parsed.
 */
export function isOverlongList(answer: string, oracle: string): boolean {
  return answer.length > 20 * oracle.length + 1000;
}

/**
 * Returns what Python's `for item in` would iterate over: the items of a list or tuple, or the
 * characters of a string. Returns null for other values and overlong answers.
 */
export function listItems(answer: string, oracle: string): readonly Literal[] | null {
  if (isOverlongList(answer, oracle)) return null;
  const value = parseLiteral(answer);
  if (value instanceof PyTuple) return value.items;
  if (typeof value === "string") return [...value];
  return Array.isArray(value) ? value : null;
}
