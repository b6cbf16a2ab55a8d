/**
 * Normalizers of SentencePiece vocabularies: a prefix, then one character in place of another. Both can be done
 * while a text is read, and need no second text.
 */

export interface UnitNormalizer {
  /** Put before a text. */
  prepend: string;
  /** Every unit `replaced` of what is then there counts as `by`; −1: none does. */
  replaced: number;
  by: number;
  /** A part of such a text, normalized. */
  replace(part: string): string;
  /** A regular expression for whatever becomes a normalized text. */
  pattern(normal: string): string;
}

/** As in `tokenizer.json`: nothing of it is certain. */
interface Config {
  type?: unknown;
  normalizers?: unknown;
  prepend?: unknown;
  pattern?: { String?: unknown };
  content?: unknown;
}

/** @returns null for a normalizer that does more; no normalizer at all (null) does nothing */
export function unitNormalizer(config: unknown): UnitNormalizer | null {
  const parts = (config === null ? [] : partsOf(config)).map((part) => Object(part) as Config);
  const prefix = parts[0]?.type === "Prepend" ? parts.shift()!.prepend : "";
  const replacement = parts[0]?.type === "Replace" ? parts.shift()! : null;
  if (parts.length > 0 || typeof prefix !== "string") return null;
  if (replacement === null) return withPrefix(prefix);
  const from = replacement.pattern?.String, to = replacement.content;
  return isUnit(from) && isUnit(to) ? withReplacement(prefix, from, to) : null;
}

function partsOf(config: unknown): readonly unknown[] {
  const { type, normalizers } = Object(config) as Config;
  return type === "Sequence" && Array.isArray(normalizers) ? normalizers : [config];
}

function withPrefix(prepend: string): UnitNormalizer {
  return { prepend, replaced: -1, by: -1, replace: (part) => part, pattern: RegExp.escape };
}

function withReplacement(prepend: string, from: string, to: string): UnitNormalizer {
  const either = `(?:${RegExp.escape(from)}|${RegExp.escape(to)})`;
  return {
    prepend,
    replaced: from.charCodeAt(0),
    by: to.charCodeAt(0),
    replace: (part) => part.replaceAll(from, to),
    pattern: (normal) => normal.split(to).map((part) => RegExp.escape(part)).join(either),
  };
}

/** A character, not half of one. */
const isUnit = (text: unknown): text is string =>
  typeof text === "string" && text.length === 1 && text.isWellFormed();
