/**
 * The text of each token, for decoders that put tokens together one by one: those of SentencePiece vocabularies
 * (Replace, ByteFallback, Fuse, Strip in this order). The library goes over a text once for each of these steps.
 * Here the bytes of the tokens are copied side by side, which leaves no string for each of them behind. Tokens that
 * are a part of a character have no text of their own; texts with one are left to the library.
 */

export interface DecodeTable {
  /** UTF-8 of all tokens, one after the other. */
  bytes: Uint8Array;
  /** Where each begins, and the end of the last. A token that does not exist has no bytes. */
  starts: Uint32Array;
  /** By id: 1 for special tokens, 2 for parts of a character. */
  kinds: Uint8Array;
  /** Taken from the beginning of the whole once, if it is there. */
  strip: string;
}

const SPECIAL = 1, PART = 2;

/**
 * @param decoder of a `tokenizer.json`
 * @param tokens by id
 * @param special ids that may be left out
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
    (token) => token === undefined ? "" : alone(token.replaceAll(from, to)),
  );
  const encoded = texts.map((text) => encoder.encode(text ?? ""));
  const starts = new Uint32Array(texts.length + 1), kinds = new Uint8Array(texts.length);
  encoded.forEach((own, id) => starts[id + 1] = starts[id]! + own.length);
  const bytes = new Uint8Array(starts[texts.length]!);
  texts.forEach((text, id) => {
    bytes.set(encoded[id]!, starts[id]!);
    // What special tokens are does not matter where they are left out.
    kinds[id] = (special.has(id) ? SPECIAL : 0) | (text === null ? PART : 0);
  });
  return { bytes, starts, kinds, strip: stripped };
}

/** As the file has it: nothing of it is certain. */
interface Part {
  type?: unknown;
  pattern?: { String?: unknown };
  content?: string;
  start?: unknown;
  stop?: unknown;
}

/** Of a decoder that strips one character at the beginning; null for others. */
function strippedText({ type, content, start, stop }: Part): string | null {
  const isOne = type === "Strip" && start === 1 && stop === 0;
  return isOne && typeof content === "string" && content.length === 1 ? content : null;
}

/** A token such as <0x0A> is a byte, and up to 0x7F a character by itself. Half a surrogate pair is a part, too. */
function alone(token: string): string | null {
  if (!(token.length === 6 && token.startsWith("<0x") && token.endsWith(">"))) {
    return token.isWellFormed() ? token : null;
  }
  const byte = parseInt(token.slice(3, 5), 16);
  return Number.isNaN(byte) ? token : byte < 0x80 ? String.fromCharCode(byte) : null;
}

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
/** Where a text is put together; grows as needed. */
let text = new Uint8Array(4096);

/** The text of these ids, with or without special tokens; null where the library has to do it. */
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
