/**
 * Texts of tokenizers without a pre-tokenizer (SentencePiece vocabularies), which the library merges as one long
 * word, every time anew. Here such a text is cut wherever no merge can reach across: between two characters that
 * stand side by side in no token that a merge makes. What is between two cuts merges the same way whatever is
 * around it, so its ids are remembered, and prompts that begin alike are merged once. Normalizer, merges and ids
 * stay the library's own. Texts with added tokens are left to it altogether.
 */
import { merger } from "./bpe_merges.ts";

/** Longer pieces are seldom met again; so many are kept before all are forgotten. */
const LONGEST = 256, MOST = 8192;

/** What this file knows of the library's tokenizer. */
export interface BpeTokenizer {
  normalizer: ((text: string) => string) | null;
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
  const normalize = (text: string) => normalizer === null ? text : normalizer(text);
  const contents = added.flatMap(({ content }) => [content, normalize(content)]);
  const isAdded = contents.length === 0
    ? null
    : new RegExp([...new Set(contents)].map((text) => RegExp.escape(text)).join("|"));
  const joined = neighbours(merges), known = new Map<string, readonly number[] | null>();
  const { unk_token_id: unknown, tokens_to_ids: vocabulary } = model;
  const fused = model.fuse_unk ? unknown : undefined;
  let merge: ReturnType<typeof merger> | null = null;

  /** Ids of a piece; null: something in it has none. */
  const idsOf = (piece: string): readonly number[] | null => {
    const found = known.get(piece);
    if (found !== undefined) return found;
    merge ??= merger(merges);
    let own = merge(piece).map((token) => vocabulary.get(token));
    // Bytes and unknown tokens are for the library to put in their place.
    if (own.includes(undefined)) {
      own = model([piece]).map((token) => vocabulary.get(token) ?? unknown);
    }
    const ids = own.includes(undefined) ? null : own as number[];
    if (piece.length <= LONGEST) {
      if (known.size >= MOST) known.clear();
      // A copy: a part of a string would keep the whole of it.
      known.set([...piece].join(""), ids);
    }
    return ids;
  };

  return (text, before) => {
    // The library does not normalize no text at all: it would get a prefix.
    if (text === "") return [...before];
    const normal = normalize(text);
    if (normal === "" || isAdded?.test(text) || isAdded?.test(normal)) return null;
    const all = [...before], end = normal.length;
    let last = -1, from = 0, left = normal.charCodeAt(0);
    for (let at = 1; at <= end; at++) {
      const right = at < end ? normal.charCodeAt(at) : -1;
      if (at < end && (joined(left, right) || isSecondHalf(right))) {
        left = right;
        continue;
      }
      const ids = idsOf(normal.slice(from, at));
      if (ids === null) return null;
      for (const id of ids) {
        if (id !== fused || last !== fused) all.push(id);
        last = id;
      }
      from = at;
      left = right;
    }
    return all;
  };
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
