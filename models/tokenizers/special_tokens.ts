/**
 * Special tokens that stand in a user's text and have to stay text. A chat template mixes its
 * special tokens with the contents of the messages. Here the tokens in the contents are marked
 * before that, so that the tokenizer can tell the two kinds apart.
 */

/** Put after the first character of a token. Unicode reserves this code point for internal use. */
const MARK = "\ufdd0";

export interface TextPiece {
  text: string;
  /** Whether it is a special token, and not ordinary text. */
  special: boolean;
}

export class SpecialTokens {
  /** Any of the tokens. Longer ones are tried first. */
  readonly #any: RegExp | null;
  readonly #anyOrMarked: RegExp | null;

  constructor(contents: Iterable<string>) {
    const sorted = [...new Set(contents)].filter((token) => token !== "")
      .sort((a, b) => b.length - a.length || (a < b ? -1 : 1));
    const either = (tokens: readonly string[]) => tokens.map(escape).join("|");
    const none = sorted.length === 0;
    this.#any = none ? null : new RegExp(either(sorted), "gu");
    this.#anyOrMarked = none
      ? null
      : new RegExp(`(${either(sorted.map(marked))})|(${either(sorted)})`, "gu");
  }

  /** The text, with a mark in each of its special tokens. */
  mark(text: string): string {
    return this.#any === null ? text : text.replaceAll(this.#any, marked);
  }

  /** Whether the text holds a marked token, so that `pieces` is needed to read it. */
  hasMarks(text: string): boolean {
    if (this.#anyOrMarked === null || !text.includes(MARK)) return false;
    return [...text.matchAll(this.#anyOrMarked)].some((match) => match[1] !== undefined);
  }

  /** The text, cut at its special tokens. Marked ones become text without their marks. */
  pieces(text: string): TextPiece[] {
    const pieces: TextPiece[] = [];
    let plain = "", at = 0;
    const flush = () => {
      if (plain !== "") pieces.push({ text: plain, special: false });
      plain = "";
    };
    for (const match of this.#anyOrMarked === null ? [] : text.matchAll(this.#anyOrMarked)) {
      plain += text.slice(at, match.index);
      at = match.index + match[0].length;
      if (match[1] !== undefined) plain += match[1].replace(MARK, "");
      else {
        flush();
        pieces.push({ text: match[0], special: true });
      }
    }
    plain += text.slice(at);
    flush();
    return pieces;
  }

  /** The text, cut after the first character of each special token: no part holds a long one. */
  apart(text: string): string[] {
    return this.mark(text).split(MARK);
  }
}

function marked(token: string): string {
  const first = String.fromCodePoint(token.codePointAt(0)!);
  return first + MARK + token.slice(first.length);
}

function escape(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
}
