/**
 * Finding added tokens in a text, as Hugging Face's tokenizers do: the longest that begins leftmost, first those that
 * are looked for in the text as it is, then, in what is between, those that are looked for after normalizing. The
 * library does not know tokens that must stand as a word of their own.
 */
import { WORD_CHARACTERS } from "./tokenizer_parts.ts";

export interface AddedToken {
  content: string;
  id: number;
  /** Not where a letter, digit, mark or connector stands beside it. */
  single_word: boolean;
  /** Takes the spaces before it along. */
  lstrip: boolean;
  rstrip: boolean;
  /** Looked for in normalized text. */
  normalized: boolean;
}

/** A stretch of text; with a token it is that. */
export interface Section {
  text: string;
  token: AddedToken | null;
  /** Where it begins. */
  at: number;
}

/** Cuts a text at the tokens in it. */
export type TokenFinder = (text: string) => Section[];

const ENDS_WITH_WORD = new RegExp(`[${WORD_CHARACTERS}]$`, "u");
const STARTS_WITH_WORD = new RegExp(`^[${WORD_CHARACTERS}]`, "u");
const SPACE = /\p{White_Space}/u, SPACES_AFTER = /^\p{White_Space}*/u;

/** @param tokens by the text that is looked for */
export function tokenFinder(tokens: ReadonlyMap<string, AddedToken>): TokenFinder {
  const texts = [...tokens.keys()].filter((text) => text !== "")
    .sort((a, b) => b.length - a.length);
  if (texts.length === 0) return (text) => text === "" ? [] : [{ text, token: null, at: 0 }];
  const any = new RegExp(texts.map((text) => RegExp.escape(text)).join("|"), "gu");
  return (text) => {
    const sections: Section[] = [];
    let done = 0;
    const plain = (to: number) => {
      if (to > done) sections.push({ text: text.slice(done, to), token: null, at: done });
    };
    for (const { 0: found, index } of text.matchAll(any)) {
      const token = tokens.get(found)!, end = index + found.length;
      if (token.single_word && isPartOfWord(text, index, end)) continue;
      let from = index;
      while (token.lstrip && from > done && SPACE.test(text[from - 1]!)) from--;
      const spaces = token.rstrip ? SPACES_AFTER.exec(text.slice(end))![0].length : 0;
      plain(from);
      sections.push({ text: found, token, at: from });
      done = end + spaces;
    }
    plain(text.length);
    return sections;
  };
}

function isPartOfWord(text: string, from: number, to: number): boolean {
  return ENDS_WITH_WORD.test(text.slice(0, from)) || STARTS_WITH_WORD.test(text.slice(to));
}
