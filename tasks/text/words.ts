/**
 * The English word list: about 220 000 words of 3 to 11 letters a–z, from the npm package
 * `word-list` (licence: `assets/LICENCE.md`). The file is read when the first word is needed, and
 * each length is decoded separately.
 *
 * The file has one line for each word length, with the words in alphabetical order. Each word is
 * stored as the number of leading letters that it shares with the previous word (a digit, A for
 * 10), followed by its other letters. The word length says where a word ends.
 */
import { readAsset } from "../asset.ts";
import { once } from "../once.ts";

export const MIN_WORD_LENGTH = 3;
export const MAX_WORD_LENGTH = 11;

const readLines = once(() => readAsset("words.txt").split("\n"));

/** The words with exactly `length` letters, in alphabetical order. */
export const wordsOfLength = once((length: number): readonly string[] =>
  decodeWords(readLines()[length - MIN_WORD_LENGTH] ?? "", length)
);

/** Number of words with `min` to `max` letters. */
export function wordCount(min: number, max: number): number {
  let count = 0;
  const last = Math.min(max, MAX_WORD_LENGTH);
  for (let n = Math.max(min, MIN_WORD_LENGTH); n <= last; n++) count += wordsOfLength(n).length;
  return count;
}

/** Word `index` among those with at least `min` letters. Shorter words come first. */
export function wordAt(index: number, min: number): string {
  for (let length = Math.max(min, MIN_WORD_LENGTH); length <= MAX_WORD_LENGTH; length++) {
    const list = wordsOfLength(length);
    if (index < list.length) return list[index]!;
    index -= list.length;
  }
  throw new RangeError("wordAt: index beyond the list");
}

export function decodeWords(text: string, length: number): string[] {
  const words: string[] = [];
  let word = "";
  for (let at = 0; at < text.length;) {
    const code = text.charCodeAt(at++);
    const shared = code === 65 ? 10 : code - 48;
    word = word.slice(0, shared) + text.slice(at, at + length - shared);
    at += length - shared;
    words.push(word);
  }
  return words;
}
