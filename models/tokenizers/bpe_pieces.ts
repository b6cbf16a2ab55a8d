/**
 * Texts of tokenizers without a pre-tokenizer (SentencePiece vocabularies), which the library merges as one long
 * word, every time anew. Here such a text is cut wherever no merge can reach across: between two characters that
 * stand side by side in no token that a merge makes. What is between two cuts merges the same way whatever is
 * around it, so its ids are remembered; and what a text's beginning has in common with the text before it is not
 * looked at again up to its last cut. Merges and ids stay the library's own, and so does the normalizer, unless all
 * it does is to put "▁" in place of spaces. Texts with added tokens are left to the library altogether.
 */
import { merger } from "./bpe_merges.ts";
import { hashed, PieceTable } from "./piece_table.ts";
import { type UnitNormalizer, unitNormalizer } from "./unit_normalizer.ts";

/** Longer pieces are seldom met again. */
const LONGEST = 256;

/** What this file knows of the library's tokenizer. */
export interface BpeTokenizer {
  normalizer: (((text: string) => string) & { config?: unknown }) | null;
  pre_tokenizer: unknown;
  remove_space?: boolean;
  do_lowercase_and_remove_accent?: boolean;
  added_tokens: readonly { content: string; id: number }[];
  model: BpeModel;
}

interface BpeModel {
  (words: readonly string[]): string[];
  readonly merges?: readonly (readonly [left: string, right: string])[];
  readonly tokens_to_ids: ReadonlyMap<string, number>;
  readonly unk_token_id?: number | undefined;
  /** Unknown tokens side by side are one. */
  readonly fuse_unk: boolean;
  readonly ignore_merges?: boolean;
  readonly byte_fallback?: boolean;
  readonly end_of_word_suffix?: string | null;
  readonly continuing_subword_suffix?: string | null;
}

/** Puts the ids of a text behind others; null: the library has to do it. */
export type PieceEncoder = (text: string, before: readonly number[]) => number[] | null;

/** How to encode texts of a tokenizer piece by piece; null for tokenizers of another kind. */
export function pieceEncoder(tokenizer: BpeTokenizer): PieceEncoder | null {
  const { model, normalizer, added_tokens: added } = tokenizer;
  const { merges } = model;
  if (merges === undefined || tokenizer.pre_tokenizer !== null || model.ignore_merges) return null;
  if (model.end_of_word_suffix || model.continuing_subword_suffix) return null;
  if (tokenizer.remove_space || tokenizer.do_lowercase_and_remove_accent) return null;
  const units = unitNormalizer(normalizer === null ? null : normalizer.config);
  const { prepend, replaced, by } = units ?? NOTHING_REPLACED;
  const prepared = units === null ? normalizer! : (text: string) => prepend + text;
  const isAdded = addedPattern(added.map(({ content }) => content), normalizer, units);
  const joined = neighbours(merges), known = new PieceTable<readonly number[] | null>();
  const { unk_token_id: unknown, tokens_to_ids: vocabulary } = model;
  const fused = model.fuse_unk ? unknown : undefined;
  let merge: ReturnType<typeof merger> | null = null;

  /** Ids of a piece; null: something in it has none. */
  const idsOf = (
    text: string,
    from: number,
    to: number,
    hash: number,
  ): readonly number[] | null => {
    const ready = known.get(text, from, to, hash);
    if (ready !== undefined) return ready;
    // A copy: a part of a string would keep the whole of it.
    const own = [...text.slice(from, to)].join("");
    const piece = units === null ? own : units.replace(own);
    merge ??= merger(merges);
    let found = merge(piece).map((token) => vocabulary.get(token));
    // Bytes and unknown tokens are for the library to put in their place.
    if (found.includes(undefined)) {
      // What is dropped lets its neighbours merge, which may be in other pieces.
      if (unknown === undefined && !model.byte_fallback) return null;
      found = model([piece]).map((token) => vocabulary.get(token) ?? unknown);
    }
    const ids = found.includes(undefined) ? null : found as number[];
    if (own.length <= LONGEST) known.set(own, hash, ids);
    return ids;
  };

  /** The text before, its ids, where it was cut, and how many ids are before each cut. */
  let previous = "", cuts = 0;
  const ids: number[] = [], cutAt: number[] = [], idsAt: number[] = [];

  return (text, before) => {
    // The library does not normalize no text at all: it would get a prefix.
    if (text === "") return [...before];
    const whole = prepared(text), end = whole.length;
    if (end === 0 || isAdded?.test(whole) || units === null && isAdded?.test(text)) return null;
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
        const own = idsOf(whole, from, at, hash);
        if (own === null) {
          cuts = 0;
          return null;
        }
        for (const id of own) {
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
 * What finds added tokens in a text that is prepared, or, where a normalizer of the library prepares it, in a text
 * before or after; null where there are none.
 */
function addedPattern(
  contents: readonly string[],
  normalizer: BpeTokenizer["normalizer"],
  units: UnitNormalizer | null,
): RegExp | null {
  if (contents.length === 0) return null;
  const patterns = contents.flatMap((content) => {
    const normal = normalizer === null ? content : normalizer(content);
    return [RegExp.escape(content), units === null ? RegExp.escape(normal) : units.pattern(normal)];
  });
  return new RegExp([...new Set(patterns)].join("|"));
}

/** Code units that two texts begin with. */
function commonLength(a: string, b: string): number {
  const most = Math.min(a.length, b.length);
  let same = 0;
  while (same < most && a.charCodeAt(same) === b.charCodeAt(same)) same++;
  return same;
}

/**
 * Whether two code units may stand side by side in a token that some merge makes. Pairs share the places of a table,
 * so some say so without reason; that only spares a cut.
 */
function neighbours(
  merges: readonly (readonly [left: string, right: string])[],
): (left: number, right: number) => boolean {
  const pairs = new Set<number>();
  for (const [left, right] of merges) {
    const token = left + right;
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

/** The second half of a character beyond U+FFFF, which is not cut off from its first. */
const isSecondHalf = (unit: number) => unit >= 0xdc00 && unit <= 0xdfff;
