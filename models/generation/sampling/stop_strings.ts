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
