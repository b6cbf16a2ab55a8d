/** The vocabulary of a model: texts and ids of its tokens. */
import type { Json } from "../components/component.ts";

export interface Vocabulary {
  ids: ReadonlyMap<string, number>;
  /** By id. Ids that are left out have no token. */
  tokens: readonly (string | undefined)[];
}

/**
 * @param vocab token → id, or a list of [token, score] whose places are the ids
 * @throws Error when it is neither
 */
export function vocabularyOf(vocab: unknown): Vocabulary {
  const tokens: (string | undefined)[] = [];
  if (Array.isArray(vocab)) {
    for (const [token] of vocab as [string, number][]) tokens.push(token);
    return { tokens, ids: new Map((tokens as string[]).map((token, id) => [token, id])) };
  }
  if (vocab === null || typeof vocab !== "object") throw new Error("its model has no vocabulary");
  const ids = new Map(Object.entries(vocab as Record<string, number>));
  for (const [token, id] of ids) tokens[id] = token;
  return { ids, tokens };
}

export function unknownId(model: Json, ids: ReadonlyMap<string, number>): number | undefined {
  const token = model["unk_token"];
  return typeof token === "string" ? ids.get(token) : undefined;
}

// Tokens for single bytes, which stand for characters that a vocabulary lacks.

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
