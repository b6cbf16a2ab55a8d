/**
 * Stop strings as a rule of generation (`GenerateOptions.stopWhen`): a completion ends with the token that
 * completes one of the strings in its text. As in transformers, that token is kept whole, so the text holds the
 * string and may run past it by the rest of the token. Where the string begins does not matter: it may span
 * tokens, and start in the middle of one.
 */
import type { Tokenizer } from "../tokenizers/types.ts";

/** Characters decoded beyond the longest string: a cut character at the tail's start is some of these. */
const MARGIN = 8;

/**
 * Whether the newest token completes one of `strings`. Only as many of the last tokens are decoded as the
 * longest string needs. Special tokens have no text. Null when there are no strings.
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
      // What the newest token adds to may end within a character, which the token then completes.
      const before = decode(tail.slice(0, -1)).replace(/\uFFFD+$/, "").length;
      if (before < reach && tail.length < ids.length) continue;
      const text = decode(tail);
      return wanted.some((stop) => text.includes(stop, Math.max(0, before - stop.length + 1)));
    }
  };
}
