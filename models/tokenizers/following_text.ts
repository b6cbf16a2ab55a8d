/** Texts of tokens that stand behind other tokens. */
import type { Tokenizer } from "./types.ts";

type Reader = Pick<Tokenizer, "decode" | "tokenBytes">;

/**
 * The text of ids that follow others, as those of a completion follow its prompt. `decode` reads
 * them as the beginning of a text, from which decoders of SentencePiece take a blank away: here it
 * stays, so that both texts put together are the text of all ids.
 */
export function followingText(
  tokenizer: Reader,
  ids: readonly number[],
  options: { skipSpecialTokens?: boolean } = {},
): string {
  const text = tokenizer.decode(ids, options), [first] = ids;
  return first === undefined ? text : lostBlanks(tokenizer, first) + text;
}

/** The text of one token where it follows others; special tokens have their names. */
export function tokenText(tokenizer: Reader, id: number): string {
  const bytes = tokenizer.tokenBytes(id);
  return bytes === null ? tokenizer.decode([id], { skipSpecialTokens: false }) : textOf(bytes);
}

/** What `decode` takes from the beginning of a token that stands first. */
function lostBlanks(tokenizer: Reader, id: number): string {
  const bytes = tokenizer.tokenBytes(id);
  if (bytes?.[0] !== 0x20) return "";
  const whole = textOf(bytes), first = tokenizer.decode([id]);
  return whole.endsWith(first) ? whole.slice(0, whole.length - first.length) : "";
}

function textOf(bytes: Uint8Array): string {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
}
