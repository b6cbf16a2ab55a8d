/** Values with names: AB = 4, CD = 5; p = 5, q = 2; p = 7, q = 2. */
import type { MathValue } from "../formulas/value.ts";

type Named = Extract<MathValue, { kind: "named" }>;

const NAME = String.raw`(?:m\s*)?(?:\\[a-z]+\s*)?\{?[A-Za-z]{1,12}'*\}?(?:_(?:\w|\{\w+\}))?` +
  String.raw`(?:\([\w\s,.-]{1,12}\))?`;
const STARTS = new RegExp(`[,;]\\s*(?=${NAME}\\s*=)`);
const PART = new RegExp(`^\\s*(${NAME})\\s*=([^=]+)$`);
const MAX_PARTS = 24;

/**
 * Whether a tuple holds the values by the alphabet: x, y, z; a_1, a_2. Others, such as r, θ or
 * m, b, stand in the order of the text.
 */
function isAlphabetical(sorted: Named["parts"]): boolean {
  const names = sorted.map(({ name }) => name);
  if (names.some((name) => name.startsWith("\\"))) return false;
  return names.some((name) => name.length > 1) ||
    names.every((name, i) => i === 0 || name.charCodeAt(0) === names[i - 1]!.charCodeAt(0) + 1);
}

/** Two or more values with names; a set of such where names occur again. Null for other texts. */
export function parseNamed(
  clean: string,
  read: (text: string) => MathValue | null,
): MathValue | null {
  const texts = clean.split(STARTS);
  if (texts.length < 2 || texts.length > MAX_PARTS) return null;
  const groups: Named["parts"][] = [[]];
  for (const text of texts) {
    const [, written, right] = PART.exec(text) ?? [];
    const value = right === undefined ? null : read(right);
    if (value === null || value.kind === "equation" || value.kind === "named") return null;
    const name = written!.replace(/[\s{}]/g, "");
    if (groups.at(-1)!.some((part) => part.name === name)) groups.push([]);
    groups.at(-1)!.push({ name, value });
  }
  const items = groups.map((parts): Named => {
    const sorted = [...parts].sort((a, b) => a.name < b.name ? -1 : 1);
    const tuple = (isAlphabetical(sorted) ? sorted : parts).map(({ value }) => value);
    return { kind: "named", parts: sorted, tuple };
  });
  if (items.length === 1) return items[0]!;
  // All groups have the same names.
  const names = items.map(({ parts }) => parts.map(({ name }) => name).join());
  return new Set(names).size === 1 ? { kind: "set", items } : null;
}
