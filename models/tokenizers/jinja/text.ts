/** What filters and methods of Python's texts share. Positions count code points. */
import { codePoints, isBlank, strip } from "../../../tasks/python/text.ts";
import { Endless, MAX_SIZE } from "./budget.ts";

/**
 * Texts with a separator between them.
 * @throws Endless when they are too long together
 */
export function joinedBy(separator: string, parts: readonly string[]): string {
  const between = separator.length * Math.max(0, parts.length - 1);
  requireSize(parts.reduce((sum, { length }) => sum + length, between));
  return parts.join(separator);
}

/** @throws Endless for a text of so many characters, if that is too long */
export function requireSize(length: number): void {
  if (length > MAX_SIZE) throw new Endless("a value of it is too large");
}

/** `str.strip`, `lstrip` and `rstrip`. @param characters null removes white space */
export function stripOf(
  text: string,
  characters: string | null,
  left: boolean,
  right: boolean,
): string {
  const set = characters === null ? null : new Set(characters);
  const isOff = (one: string) => set === null ? isBlank(one) : set.has(one);
  const all = Array.from(text);
  let from = 0, to = all.length;
  while (left && from < to && isOff(all[from]!)) from++;
  while (right && from < to && isOff(all[to - 1]!)) to--;
  return all.slice(from, to).join("");
}

/** Characters that a search may compare at the worst: of each place, all those of the part. */
const MAX_COMPARED = 2 ** 33;

/**
 * The part that is looked for in a text.
 * @throws Error where that could take minutes
 */
export function searched(text: string, part: string): string {
  const places = text.length - part.length + 1;
  if (places * part.length <= MAX_COMPARED) return part;
  throw new Error(
    `a text of ${part.length} characters is looked for in one of ${text.length}: this takes too long`,
  );
}

/** What ends a line of `str.splitlines`. */
const LINE_END = "\\r\\n|[\\n-\\r\\u001c-\\u001e\\u0085\\u2028\\u2029]";
const LINE = new RegExp(`.*?(?:${LINE_END}|$)`, "gs"), AT_END = new RegExp(`(?:${LINE_END})$`);

/** `str.splitlines(keepEnds)`. */
export function splitLines(text: string, keepEnds: boolean): string[] {
  const lines = (text.match(LINE) ?? []).filter((line) => line !== "");
  return keepEnds ? lines : lines.map((line) => line.replace(AT_END, ""));
}

/** `str.replace(old, new, count)`. @param count below 0: all */
export function replace(text: string, old: string, by: string, count: number): string {
  if (old === "") throw new Error("replace of an empty text is not supported");
  const parts = text.split(searched(text, old)), places = parts.length - 1;
  const replaced = count < 0 ? places : Math.min(count, places);
  requireSize(text.length + by.length * replaced);
  return [parts.slice(0, replaced + 1).join(by), ...parts.slice(replaced + 1)].join(old);
}

/**
 * A text so many times; none for a number below 1.
 * @throws Error for a number that fills the memory
 */
export function filled(text: string, times: number): string {
  if (times > MAX_SIZE) throw new Error(`${times} characters are more than a line may have`);
  return text.repeat(Math.max(0, times));
}

/** `str.count(part)`. */
export function count(text: string, part: string): number {
  return part === "" ? codePoints(text) + 1 : text.split(searched(text, part)).length - 1;
}

/** `str.capitalize()`. */
export function capitalize(text: string): string {
  const [first = "", ...rest] = Array.from(text);
  const [capital = "", ...others] = Array.from(first.toUpperCase());
  return capital + others.join("").toLowerCase() + rest.join("").toLowerCase();
}

/** `str.isdigit()`, `isalpha()`, …: every character is of the class, and there is one. */
export const CLASSES: Readonly<Record<string, (text: string) => boolean>> = {
  isdigit: (text) => /^[\p{Nd}\u00b2\u00b3\u00b9\u2070\u2074-\u2079\u2080-\u2089]+$/u.test(text),
  isalpha: (text) => /^\p{L}+$/u.test(text),
  isalnum: (text) => /^[\p{L}\p{N}]+$/u.test(text),
  isspace: (text) => text !== "" && strip(text) === "",
  isupper: (text) => text === text.toUpperCase() && text !== text.toLowerCase(),
  islower: (text) => text === text.toLowerCase() && text !== text.toUpperCase(),
};
