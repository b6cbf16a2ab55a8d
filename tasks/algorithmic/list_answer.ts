/** Answers that are Python lists, where reading them costs more than comparing text. */
import { type Literal, parseLiteral, PyTuple } from "../python/literals.ts";

/**
 * Whether an answer is far longer than the right one can be in any notation. Such answers are worth nothing
 * and are not read, so that endless ones cost nothing.
 */
export function isOverlongList(answer: string, oracle: string): boolean {
  return answer.length > 20 * oracle.length + 1000;
}

/**
 * What Python's `for item in` finds in the literal that the answer is: the items of a list or tuple, the
 * characters of a string. null when it is something else, or overlong.
 */
export function listItems(answer: string, oracle: string): readonly Literal[] | null {
  if (isOverlongList(answer, oracle)) return null;
  const value = parseLiteral(answer);
  if (value instanceof PyTuple) return value.items;
  if (typeof value === "string") return [...value];
  return Array.isArray(value) ? value : null;
}
