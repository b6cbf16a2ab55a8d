/**
 * Normalizers of SentencePiece vocabularies, which put a prefix before a text and then replace one
 * character by another. Both can be done while the text is read, without making a second text.
 */

export interface UnitNormalizer {
  /** What is put before a text. */
  prepend: string;
  /** The code unit that is read as `by`, in the prefix too; −1 if none is. */
  replaced: number;
  by: number;
  /** Normalizes a part of the text that has its prefix. */
  replace(part: string): string;
  /** A regular expression for all texts that become a given normalized text. */
  pattern(normal: string): string;
}

/** A component as the file has it, with values of any kind. */
interface Config {
  type?: unknown;
  normalizers?: unknown;
  prepend?: unknown;
  pattern?: { String?: unknown };
  content?: unknown;
}

/** @returns null for a normalizer that does more. No normalizer (null) changes nothing. */
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

/** Whether it is a single code unit that is a character. */
const isUnit = (text: unknown): text is string =>
  typeof text === "string" && text.length === 1 && text.isWellFormed();
