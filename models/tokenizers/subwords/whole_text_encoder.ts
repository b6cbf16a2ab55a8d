/**
 * Byte-pair encoding of texts that no pre-tokenizer cuts (SentencePiece vocabularies), where a
 * whole text is one word. Such a text is cut wherever no merge can reach across: between two
 * characters that stand side by side in no token that a merge makes. What lies between two cuts is
 * merged the same way whatever is around it, so its ids are remembered. What the beginning of a
 * text has in common with the text before it is not encoded again up to its last cut.
 */
import type { Normalizer } from "../components/normalizers.ts";
import type { Bpe } from "./bpe.ts";
import { flat } from "./subword_model.ts";
import type { Vocabulary } from "./vocabulary.ts";

/** Pieces of more code units are seldom met again. */
const MAX_LENGTH = 256;

/** The ids of a text, after others; null for texts that have to be encoded in the general way. */
export type WholeTextEncoder = (text: string, before: readonly number[]) => number[] | null;

export interface NormalizerPart {
  /** The component of the `tokenizer.json`. */
  json: unknown;
  normalize: Normalizer | null;
}

/**
 * @param added contents of the added tokens: a text with one of them is encoded in the general way
 * @returns null for models whose texts cannot be cut so
 */
export function wholeTextEncoder(
  bpe: Bpe,
  vocabulary: Vocabulary,
  { json, normalize }: NormalizerPart,
  added: readonly string[],
): WholeTextEncoder | null {
  if (!bpe.isLocal()) return null;
  const units = unitNormalizer(json ?? null);
  const { prepend, replaced, by } = units ?? NOTHING_REPLACED;
  const prepared = units === null ? normalize! : (text: string) => prepend + text;
  const hasAdded = addedPattern(added, normalize, units);
  const joined = neighbours(bpe.merges, vocabulary), fused = bpe.fusedId;
  const known = new PieceTable<readonly number[] | null>();

  /**
   * The ids of a piece, or null when it holds a character that is dropped. The characters around it
   * then become neighbours, perhaps across two pieces.
   */
  const idsOf = (
    text: string,
    from: number,
    to: number,
    hash: number,
  ): readonly number[] | null => {
    const ready = known.get(text, from, to, hash);
    if (ready !== undefined) return ready;
    const piece = flat(text.slice(from, to));
    const ids = bpe.encodePart(units === null ? piece : units.replace(piece));
    if (piece.length <= MAX_LENGTH) known.set(piece, hash, ids);
    return ids;
  };

  /** The text before, its ids, where it was cut, and the number of ids before each cut. */
  let previous = "", cuts = 0;
  const ids: number[] = [], cutAt: number[] = [], idsAt: number[] = [];

  return (text, before) => {
    // An empty text is not normalized: it would get a prefix.
    if (text === "") return [...before];
    const whole = prepared(text), end = whole.length;
    if (end === 0 || hasAdded?.test(whole) || units === null && hasAdded?.test(text)) return null;
    const unitAt = (at: number) => {
      const unit = whole.charCodeAt(at);
      return unit === replaced ? by : unit;
    };
    // The units on both sides of a cut decide about it.
    const same = commonLength(previous, whole);
    while (cuts > 0 && cutAt[cuts - 1]! >= same) cuts--;
    ids.length = cuts > 0 ? idsAt[cuts - 1]! : 0;
    previous = "";
    let from = cuts > 0 ? cutAt[cuts - 1]! : 0, left = unitAt(from), hash = hashed(0, left);
    for (let at = from + 1; at <= end; at++) {
      const right = at < end ? unitAt(at) : -1;
      if (at === end || !(joined(left, right) || isSecondHalf(right))) {
        const found = idsOf(whole, from, at, hash);
        if (found === null) {
          cuts = 0;
          return null;
        }
        for (const id of found) {
          if (id !== fused || ids.length === 0 || ids[ids.length - 1] !== fused) ids.push(id);
        }
        cutAt[cuts] = from = at;
        idsAt[cuts++] = ids.length;
        hash = 0;
      }
      hash = hashed(hash, right);
      left = right;
    }
    previous = whole;
    return before.concat(ids);
  };
}

const NOTHING_REPLACED = { prepend: "", replaced: -1, by: -1 };

/**
 * Finds added tokens in a text that is prepared, or, where a full normalizer prepares it, in a
 * text before or after that. Null where there are no added tokens.
 */
function addedPattern(
  contents: readonly string[],
  normalize: Normalizer | null,
  units: UnitNormalizer | null,
): RegExp | null {
  if (contents.length === 0) return null;
  const patterns = contents.flatMap((content) => {
    const normal = normalize === null ? content : normalize(content);
    return [RegExp.escape(content), units === null ? RegExp.escape(normal) : units.pattern(normal)];
  });
  return new RegExp([...new Set(patterns)].join("|"));
}

/** Number of code units that two texts begin with in common. */
function commonLength(a: string, b: string): number {
  const max = Math.min(a.length, b.length);
  let same = 0;
  while (same < max && a.charCodeAt(same) === b.charCodeAt(same)) same++;
  return same;
}

/**
 * Whether two code units may stand side by side in a token that some merge makes. Different pairs
 * can have the same place in the table, so the answer can be a wrong yes, which only saves a cut.
 */
function neighbours(
  merges: Int32Array,
  { tokens }: Vocabulary,
): (left: number, right: number) => boolean {
  const pairs = new Set<number>();
  for (let result = 2; result < merges.length; result += 3) {
    const token = tokens[merges[result]!]!;
    for (let i = 1; i < token.length; i++) {
      pairs.add(token.charCodeAt(i - 1) * 0x10000 + token.charCodeAt(i));
    }
  }
  const bits = Math.ceil(Math.log2(16 * (pairs.size + 1))), table = new Uint8Array(2 ** bits);
  const place = (left: number, right: number) =>
    (Math.imul(left, 0x9e3779b1) ^ Math.imul(right, 0x85ebca6b)) >>> (32 - bits);
  for (const pair of pairs) table[place(Math.floor(pair / 0x10000), pair % 0x10000)] = 1;
  return (left, right) => table[place(left, right)] === 1;
}

/** The second half of a character beyond U+FFFF, which is not cut off from its first half. */
const isSecondHalf = (unit: number) => unit >= 0xdc00 && unit <= 0xdfff;

// Normalizers of SentencePiece vocabularies, which put a prefix before a text and then replace one
// character by another. Both can be done while the text is read, without making a second text.

interface UnitNormalizer {
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
function unitNormalizer(config: unknown): UnitNormalizer | null {
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

// A hash table whose keys are pieces of texts. A piece is looked up by a hash of its code units,
// and then by the units themselves, where a Map would need a new string for every lookup. A full
// table forgets everything.

/** Maximum number of pieces. There are twice as many places, so that searches stay short. */
const MAX_PIECES = 8192, PLACES = 2 * MAX_PIECES;

/** The hash of a piece with one more code unit. The hash of no units is 0. */
export const hashed = (hash: number, unit: number) => Math.imul(hash ^ unit, 0x9e3779b1);

export class PieceTable<Value> {
  #entries: ({ hash: number; piece: string; value: Value } | undefined)[] = [];
  #size = MAX_PIECES;

  /** @returns undefined for a piece that the table does not hold */
  get(text: string, from: number, to: number, hash: number): Value | undefined {
    for (let at = place(hash);; at = (at + 1) % PLACES) {
      const entry = this.#entries[at];
      if (entry === undefined) return undefined;
      if (entry.hash === hash && isAt(entry.piece, text, from, to)) return entry.value;
    }
  }

  /** Adds a piece that the table does not hold. */
  set(piece: string, hash: number, value: Value): void {
    if (this.#size === MAX_PIECES) {
      this.#entries = Array.from({ length: PLACES }, () => undefined);
      this.#size = 0;
    }
    let at = place(hash);
    while (this.#entries[at] !== undefined) at = (at + 1) % PLACES;
    this.#entries[at] = { hash, piece, value };
    this.#size++;
  }
}

/** The upper bits of a hash depend on all units, the lower ones do not. */
const place = (hash: number) => (hash >>> 16) % PLACES;

function isAt(piece: string, text: string, from: number, to: number): boolean {
  if (piece.length !== to - from) return false;
  for (let i = 0; i < piece.length; i++) {
    if (piece.charCodeAt(i) !== text.charCodeAt(from + i)) return false;
  }
  return true;
}
