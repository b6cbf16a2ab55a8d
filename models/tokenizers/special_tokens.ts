/**
 * Special tokens that stand in a user's text as text. A chat template mixes its own special tokens with
 * the messages' contents; here what is content is marked before the mixing, so that whoever turns the
 * whole into ids can tell the two apart.
 */

/** A code point that Unicode keeps for a program's own use; put after the first character of a token. */
const MARK = "\ufdd0";

export interface TextPiece {
  text: string;
  /** True for a special token, false for text that is nothing but text. */
  special: boolean;
}

export class SpecialTokens {
  /** Any of the tokens, the longest first. */
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

  /** The text with every special token in it marked as text. */
  mark(text: string): string {
    return this.#any === null ? text : text.replaceAll(this.#any, marked);
  }

  /** Whether `pieces` is needed to read this text. */
  hasMarks(text: string): boolean {
    if (this.#anyOrMarked === null || !text.includes(MARK)) return false;
    return [...text.matchAll(this.#anyOrMarked)].some((match) => match[1] !== undefined);
  }

  /** The text cut at its special tokens; marked ones are text, without their marks. */
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

  /** The text cut within each special token of two characters or more, so that no part holds one. */
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
