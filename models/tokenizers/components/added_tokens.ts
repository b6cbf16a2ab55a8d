/**
 * Added tokens: contents that a tokenizer finds in a text before anything cuts it, as Hugging
 * Face's tokenizers do. Of several tokens that begin at the same place the longest one counts.
 */
import { WORD_CHARACTERS } from "./patterns.ts";

export interface AddedToken {
  content: string;
  id: number;
  /** Not where a letter, digit, mark or connector stands beside it. */
  single_word?: boolean;
  /** Takes the spaces before it along. */
  lstrip?: boolean;
  rstrip?: boolean;
  /** Looked for in normalized text. */
  normalized?: boolean;
  /** Left out of decoded text on request, and never read out of a message's text. */
  special?: boolean;
}

/** Of a token that is found as it stands, wherever it stands. */
export const PLAIN_FLAGS = {
  single_word: false,
  lstrip: false,
  rstrip: false,
  normalized: false,
};

export interface Section {
  text: string;
  token: AddedToken | null;
  at: number;
}

/** Cuts a text at the tokens in it. */
export type TokenFinder = (text: string) => Section[];

const ENDS_WITH_WORD = new RegExp(`[${WORD_CHARACTERS}]$`, "u");
const STARTS_WITH_WORD = new RegExp(`^[${WORD_CHARACTERS}]`, "u");
const SPACE = /\p{White_Space}/u, SPACES_AFTER = /\p{White_Space}*/uy;

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
      plain(from);
      sections.push({ text: found, token, at: from });
      done = token.rstrip ? endOfSpaces(text, end) : end;
    }
    plain(text.length);
    return sections;
  };
}

function endOfSpaces(text: string, from: number): number {
  SPACES_AFTER.lastIndex = from;
  SPACES_AFTER.test(text);
  return SPACES_AFTER.lastIndex;
}

/** A character is at most two code units long. */
function isPartOfWord(text: string, from: number, to: number): boolean {
  return ENDS_WITH_WORD.test(text.slice(Math.max(0, from - 2), from)) ||
    STARTS_WITH_WORD.test(text.slice(to, to + 2));
}
