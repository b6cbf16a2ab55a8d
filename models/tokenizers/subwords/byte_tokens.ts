/** Tokens for single bytes, which stand for characters that a vocabulary lacks. */

/** By byte: <0x00> to <0xFF>. */
const BYTE_TOKENS: readonly string[] = Array.from(
  { length: 256 },
  (_, byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`,
);

const encoder = new TextEncoder();

export class ByteTokens {
  /** By byte: its id, or undefined where it has no token. */
  readonly ids: readonly (number | undefined)[];

  constructor(vocabulary: ReadonlyMap<string, number>) {
    this.ids = BYTE_TOKENS.map((token) => vocabulary.get(token));
  }

  /** Appends the ids of a text's bytes. Without a token for each of them it appends nothing. */
  push(text: string, ids: number[]): boolean {
    const start = ids.length;
    for (const byte of encoder.encode(text)) {
      const id = this.ids[byte];
      if (id === undefined) {
        ids.length = start;
        return false;
      }
      ids.push(id);
    }
    return true;
  }
}
