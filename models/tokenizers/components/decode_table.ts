/**
 * A fast way to decode, for the decoders of SentencePiece vocabularies: a Sequence of Replace,
 * ByteFallback, Fuse and perhaps Strip. A table holds the bytes of each token's text. Decoding
 * copies them one after the other, and makes a single string at the end. A token that is only a
 * part of a character has no text. A list of ids with such a token is left to the decoder.
 */

export interface DecodeTable {
  /** The texts of all tokens in UTF-8, one after the other. */
  bytes: Uint8Array;
  /** Where the text of each token begins, and the end of the last. Missing tokens have no bytes. */
  starts: Uint32Array;
  /** By id: flags for special tokens (1) and for parts of a character (2). */
  kinds: Uint8Array;
  /** Removed once from the beginning of the whole text, if it is there. */
  strip: string;
}

const SPECIAL = 1, PART = 2;

/**
 * @param decoder of a `tokenizer.json`
 * @param tokens by id
 * @param special ids of special tokens
 * @returns null for a decoder of another kind
 */
export function decodeTable(
  decoder: unknown,
  tokens: readonly (string | undefined)[],
  special: ReadonlySet<number>,
): DecodeTable | null {
  const { type, decoders } = Object(decoder) as { type?: unknown; decoders?: unknown };
  if (type !== "Sequence" || !Array.isArray(decoders)) return null;
  const [replace, byteFallback, fuse, strip, ...more] = decoders.map((part) =>
    Object(part) as Part
  );
  if (replace?.type !== "Replace" || typeof replace.pattern?.String !== "string") return null;
  if (byteFallback?.type !== "ByteFallback" || fuse?.type !== "Fuse" || more.length > 0) {
    return null;
  }
  const { String: from } = replace.pattern, to = replace.content ?? "";
  const stripped = strip === undefined ? "" : strippedText(strip);
  if (stripped === null) return null;
  const encoder = new TextEncoder();
  const texts = Array.from(
    tokens,
    (token) => token === undefined ? "" : ownText(token.replaceAll(from, to)),
  );
  const encoded = texts.map((text) => encoder.encode(text ?? ""));
  const starts = new Uint32Array(texts.length + 1), kinds = new Uint8Array(texts.length);
  encoded.forEach((text, id) => starts[id + 1] = starts[id]! + text.length);
  const bytes = new Uint8Array(starts[texts.length]!);
  texts.forEach((text, id) => {
    bytes.set(encoded[id]!, starts[id]!);
    kinds[id] = (special.has(id) ? SPECIAL : 0) | (text === null ? PART : 0);
  });
  return { bytes, starts, kinds, strip: stripped };
}

/** A component as the file has it, with values of any kind. */
interface Part {
  type?: unknown;
  pattern?: { String?: unknown };
  content?: string;
  start?: unknown;
  stop?: unknown;
}

/** The character that a Strip decoder removes at the beginning; null if it does anything else. */
function strippedText({ type, content, start, stop }: Part): string | null {
  const isOne = type === "Strip" && start === 1 && stop === 0;
  return isOne && typeof content === "string" && content.length === 1 ? content : null;
}

/**
 * The text of a token by itself, or null for a part of a character: a byte above 0x7F (such as
 * <0xE2>), or half of a surrogate pair.
 */
function ownText(token: string): string | null {
  if (!(token.length === 6 && token.startsWith("<0x") && token.endsWith(">"))) {
    return token.isWellFormed() ? token : null;
  }
  const byte = parseInt(token.slice(3, 5), 16);
  return Number.isNaN(byte) ? token : byte < 0x80 ? String.fromCharCode(byte) : null;
}

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
/** Where texts are put together. It grows as needed. */
let text = new Uint8Array(4096);

/** The text of these ids, with or without special tokens, or null when the decoder has to do it. */
export function decodeByTable(
  { bytes, starts, kinds, strip }: DecodeTable,
  ids: readonly number[],
  skipSpecial: boolean,
): string | null {
  const known = kinds.length;
  let out = text, end = 0;
  for (let i = 0; i < ids.length; i++) {
    const id = ids[i]!;
    if (!(id >= 0 && id < known)) continue;
    const kind = kinds[id]!;
    if (kind !== 0) {
      if (skipSpecial && (kind & SPECIAL) !== 0) continue;
      if ((kind & PART) !== 0) return null;
    }
    const last = starts[id + 1]!;
    let from = starts[id]!;
    if (end + last - from > out.length) {
      out = new Uint8Array(2 * (end + last - from));
      out.set(text);
      text = out;
    }
    while (from < last) out[end++] = bytes[from++]!;
  }
  const whole = decoder.decode(out.subarray(0, end));
  return strip !== "" && whole.startsWith(strip) ? whole.slice(strip.length) : whole;
}
