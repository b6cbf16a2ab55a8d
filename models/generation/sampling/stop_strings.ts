/**
 * Stop strings, as a function for `GenerateOptions.stopWhen`: a completion ends with the token that
 * completes one of the strings in its text. As in transformers that token is kept whole, so the
 * text contains the string and may go beyond it by the rest of the token. The string may span
 * tokens and start in the middle of one.
 */
import type { Tokenizer } from "../../tokenizers/types.ts";

/**
 * Extra characters that are decoded beyond the longest string, because a character that was cut at
 * the start decodes to some replacement characters.
 */
const MARGIN = 8;

/**
 * Makes a function that returns whether the newest token completes one of `strings`. It decodes
 * only as many of the last tokens as the longest string needs. Special tokens have no text. Null
 * without strings.
 */
export function stopStrings(
  tokenizer: Pick<Tokenizer, "decode">,
  strings: readonly string[],
): ((ids: readonly number[]) => boolean) | null {
  const wanted = strings.filter((text) => text !== "");
  if (wanted.length === 0) return null;
  const reach = Math.max(...wanted.map((text) => text.length)) + MARGIN;
  const decode = (ids: readonly number[]) => tokenizer.decode(ids, { skipSpecialTokens: true });
  return (ids) => {
    for (let count = Math.ceil(reach / 2);; count *= 2) {
      const tail = ids.slice(-count - 1);
      // The text before may end within a character, which the newest token completes.
      const before = decode(tail.slice(0, -1)).replace(/\uFFFD+$/, "").length;
      if (before < reach && tail.length < ids.length) continue;
      const text = decode(tail);
      return wanted.some((stop) => text.includes(stop, Math.max(0, before - stop.length + 1)));
    }
  };
}

// The text of a completion while its tokens arrive. What `push` and `end` return, put together, is
// the whole text. A part is held back while it may be the beginning of a stop string or the bytes
// of a character that is not complete. The text ends before the first stop string.

export class StopText {
  #text = "";
  #sent = 0;
  /** The stop string that the text has reached. */
  stop: string | null = null;

  /** @param stops texts that are not empty */
  constructor(private readonly stops: readonly string[]) {}

  /** The text that has been returned so far. */
  get sent(): string {
    return this.#text.slice(0, this.#sent);
  }

  /**
   * @param text the whole text so far, without stop tokens
   * @param from number of characters that a stop string must go beyond
   * @returns what is new and can no longer change
   */
  push(text: string, from = 0): string {
    this.#take(text, from);
    return this.#send(this.stop !== null ? this.#text.length : this.#safeEnd());
  }

  /** @param text the whole text at the end @returns the rest */
  end(text: string, from = 0): string {
    this.#take(text, from);
    return this.#send(this.#text.length);
  }

  #take(text: string, from: number): void {
    let first = Infinity;
    for (const stop of this.stops) {
      const begin = Math.max(0, this.#sent - stop.length, from - stop.length + 1);
      const at = text.indexOf(stop, begin);
      if (at >= 0 && at < first) {
        first = at;
        this.stop = stop;
      }
    }
    this.#text = text.slice(0, Math.min(first, text.length));
  }

  #send(end: number): string {
    const part = this.#text.slice(this.#sent, end);
    this.#sent = Math.max(this.#sent, end);
    return part;
  }

  /** End of what no later token can change. */
  #safeEnd(): number {
    const text = this.#text.replace(/\uFFFD+$/, "");
    let held = 0;
    for (const stop of this.stops) {
      for (let n = Math.min(stop.length - 1, text.length); n > held; n--) {
        if (text.endsWith(stop.slice(0, n))) held = n;
      }
    }
    const end = text.length - held, last = text.charCodeAt(end - 1);
    // Not between the two halves of a surrogate pair.
    return last >= 0xd800 && last < 0xdc00 ? end - 1 : end;
  }
}
