/**
 * The text of each token, for decoders that put tokens together one by one: those of SentencePiece vocabularies
 * (Replace, ByteFallback, Fuse, Strip in this order). The library goes over a text once for each of these steps.
 * Tokens that are a part of a character have no text of their own; texts with one are left to the library.
 */

export interface DecodeTable {
  /** By id; undefined: no such token, null: a byte that needs its neighbours. */
  texts: readonly (string | null | undefined)[];
  /** The same without special tokens. */
  plain: readonly (string | null | undefined)[];
  /** Taken from the beginning of the whole once, if it is there. */
  strip: string;
}

/**
 * @param decoder of a `tokenizer.json`
 * @param tokens by id; asked for when there is a table to make
 * @param special ids that may be left out
 * @returns null for a decoder of another kind
 */
export function decodeTable(
  decoder: unknown,
  tokens: () => readonly (string | undefined)[],
  special: ReadonlySet<number>,
): DecodeTable | null {
  const { type, decoders } = Object(decoder) as { type?: unknown; decoders?: unknown };
  if (type !== "Sequence" || !Array.isArray(decoders)) return null;
  const [replace, bytes, fuse, strip, ...more] = decoders.map((part) => Object(part) as Part);
  if (replace?.type !== "Replace" || typeof replace.pattern?.String !== "string") return null;
  if (bytes?.type !== "ByteFallback" || fuse?.type !== "Fuse" || more.length > 0) return null;
  const { String: from } = replace.pattern, to = replace.content ?? "";
  const stripped = strip === undefined ? "" : strippedText(strip);
  if (stripped === null) return null;
  const texts = tokens().map((token) =>
    token === undefined ? token : alone(token.replaceAll(from, to))
  );
  const plain = texts.map((text, id) => special.has(id) ? undefined : text);
  return { texts, plain, strip: stripped };
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

/** A token such as <0x0A> is a byte, and up to 0x7F a character by itself. */
function alone(token: string): string | null {
  if (!(token.length === 6 && token.startsWith("<0x") && token.endsWith(">"))) return token;
  const byte = parseInt(token.slice(3, 5), 16);
  return Number.isNaN(byte) ? token : byte < 0x80 ? String.fromCharCode(byte) : null;
}

/** The text of these ids, with or without special tokens; null where the library has to do it. */
export function decodeByTable(
  table: DecodeTable,
  ids: readonly number[],
  skipSpecial: boolean,
): string | null {
  const texts = skipSpecial ? table.plain : table.texts;
  let text = "";
  for (const id of ids) {
    const own = texts[id];
    if (own === null) return null;
    if (own !== undefined) text += own;
  }
  const { strip } = table;
  return strip !== "" && text.startsWith(strip) ? text.slice(strip.length) : text;
}
