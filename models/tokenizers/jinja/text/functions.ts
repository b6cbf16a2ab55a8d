/** Methods of Python's texts, which count code points. */
import { codePoints, isBlank, strip, words } from "../../../../tasks/python/text.ts";
import { Endless, MAX_SIZE } from "../budget.ts";

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

/** Reading a format takes four times as long as reading another text. */
export function requireFormatSize(format: string): void {
  requireSize(4 * format.length);
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

/**
 * `str.split(separator, limit)`.
 * @param separator null splits at white space
 * @param limit splits at most; below 0 all
 */
export function split(text: string, separator: string | null, limit: number): string[] {
  if (separator === "") throw new Error("split at an empty text");
  if (separator !== null) {
    const parts = text.split(searched(text, separator));
    if (limit < 0 || parts.length <= limit + 1) return parts;
    return [...parts.slice(0, limit), parts.slice(limit).join(separator)];
  }
  if (limit < 0) return words(text);
  const parts = words(text, limit);
  let at = 0;
  for (const part of parts) at = text.indexOf(part, at) + part.length;
  const rest = stripOf(text.slice(at), null, true, false);
  return rest === "" ? parts : [...parts, rest];
}

/** `str.rsplit(separator, limit)`, at a separator that is given. */
export function splitFromEnd(text: string, separator: string | null, limit: number): string[] {
  if (limit < 0) return split(text, separator, limit);
  if (separator === null) {
    const reverse = (one: string) => Array.from(one).reverse().join("");
    return split(reverse(text), null, limit).map(reverse).reverse();
  }
  const parts = split(text, separator, -1), kept = Math.max(0, parts.length - limit);
  if (kept <= 1) return parts;
  return [parts.slice(0, kept).join(separator), ...parts.slice(kept)];
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
  searched(text, old);
  const places = old === "" ? text.length + 1 : text.split(old).length - 1;
  requireSize(text.length + by.length * (count < 0 ? places : Math.min(count, places)));
  if (count < 0) return old === "" ? betweenAll(text, by) : text.replaceAll(old, () => by);
  if (old === "") return betweenAll(text, by, count);
  const parts = text.split(old), first = parts.slice(0, count + 1).join(by);
  return [first, ...parts.slice(count + 1)].join(old);
}

function betweenAll(text: string, by: string, count = Infinity): string {
  const after = (i: number) => i < count ? by : "";
  return after(0) + Array.from(text, (one, i) => one + after(i + 1)).join("");
}

/** The code point's index of a UTF-16 index; −1 stays. */
export function pointIndex(text: string, at: number): number {
  return at < 0 ? -1 : Array.from(text.slice(0, at)).length;
}

/** Characters that a filter or a method may add to a line. */
export const MAX_FILL = MAX_SIZE;

/**
 * A text so many times; none for a number below 1.
 * @throws Error for a number that fills the memory
 */
export function filled(text: string, times: number): string {
  if (times > MAX_FILL) throw new Error(`${times} characters are more than a line may have`);
  return text.repeat(Math.max(0, times));
}

/** `str.center(width, fill)`, `ljust` and `rjust`. @param side where the text goes */
export function justify(
  text: string,
  width: number,
  fill: string,
  side: "left" | "middle" | "right",
): string {
  if (codePoints(fill) !== 1) throw new Error("a text is filled with one character");
  const missing = Math.max(0, width - codePoints(text));
  const middle = Math.floor(missing / 2) + (missing & width & 1);
  const before = side === "left" ? 0 : side === "right" ? missing : middle;
  return filled(fill, before) + text + filled(fill, missing - before);
}

/** `str.zfill(width)`. */
export function zeroFill(text: string, width: number): string {
  const sign = /^[+-]/.exec(text)?.[0] ?? "";
  return sign + filled("0", width - codePoints(text)) + text.slice(sign.length);
}

/** `str.swapcase()`. */
export function swapCase(text: string): string {
  return Array.from(
    text,
    (one) => one === one.toUpperCase() ? one.toLowerCase() : one.toUpperCase(),
  )
    .join("");
}

/** `str.casefold()`. */
export function caseFold(text: string): string {
  return Array.from(text, (one) => one === "\u0131" ? one : one.toUpperCase().toLowerCase()).join(
    "",
  );
}

/** `str.expandtabs(size)`. */
export function expandTabs(text: string, size: number): string {
  let column = 0, out = "";
  for (const one of text) {
    if (one === "\t") {
      const blanks = size > 0 ? size - column % size : 0;
      out += filled(" ", blanks);
      column += blanks;
    } else {
      out += one;
      column = one === "\n" || one === "\r" ? 0 : column + 1;
    }
  }
  return out;
}

/** `str.count(part)`. */
export function count(text: string, part: string): number {
  return part === "" ? Array.from(text).length + 1 : text.split(searched(text, part)).length - 1;
}

/** `str.capitalize()`. */
export function capitalize(text: string): string {
  const [first = "", ...rest] = Array.from(text);
  const [capital = "", ...others] = Array.from(first.toUpperCase());
  return capital + others.join("").toLowerCase() + rest.join("").toLowerCase();
}

/** `str.title()`: a letter with a case begins a word after another character. */
export function title(text: string): string {
  return text.replace(/\p{Cased}+/gu, capitalize);
}

/** `str.isdigit()`, `isalpha()`, …: every character is of the class, and there is one. */
export const CLASSES: Readonly<Record<string, (text: string) => boolean>> = {
  isdigit: (text) => /^[\p{Nd}\u00b2\u00b3\u00b9\u2070\u2074-\u2079\u2080-\u2089]+$/u.test(text),
  isnumeric: (text) => /^\p{N}+$/u.test(text),
  isdecimal: (text) => /^\p{Nd}+$/u.test(text),
  isalpha: (text) => /^\p{L}+$/u.test(text),
  isalnum: (text) => /^[\p{L}\p{N}]+$/u.test(text),
  isspace: (text) => text !== "" && strip(text) === "",
  isascii: (text) => Array.from(text).every((one) => one.codePointAt(0)! < 128),
  isupper: (text) => text === text.toUpperCase() && text !== text.toLowerCase(),
  islower: (text) => text === text.toLowerCase() && text !== text.toUpperCase(),
  istitle: (text) => text === title(text) && text.toLowerCase() !== text.toUpperCase(),
  isidentifier: (text) => /^[\p{XID_Start}_]\p{XID_Continue}*$/u.test(text),
  isprintable: (text) => !/[\p{C}\p{Z}]/u.test(text.replaceAll(" ", "")),
};
