/** The bytes that a token adds to a text in which tokens stand before it. */
import { pushTokenBytes } from "./byte_alphabet.ts";
import { decoderOf } from "./decoders.ts";

/** The bytes of a token; null for a token that has none of its own. */
export type TokenBytes = (token: string) => Uint8Array | null;

/** A token that stands before others, so that they are not at the beginning. */
const BEFORE = "a";

/** @param json the decoder of a `tokenizer.json` */
export function tokenBytes(json: unknown): TokenBytes {
  const { type, decoders } = Object(json) as { type?: unknown; decoders?: unknown };
  const kinds = type === "Sequence" && Array.isArray(decoders)
    ? decoders.map((part) => Object(part).type)
    : [type];
  if (kinds.length === 1 && kinds[0] === "ByteLevel") {
    return (token) => {
      const bytes: number[] = [];
      pushTokenBytes(token, bytes);
      return Uint8Array.from(bytes);
    };
  }
  const decode = decoderOf(json) ?? ((tokens: readonly string[]) => [tokens.join(" ")]);
  const encoder = new TextEncoder(), hasBytes = kinds.includes("ByteFallback");
  return (token) => {
    const byte = hasBytes ? /^<0x([0-9A-Fa-f]{2})>$/.exec(token) : null;
    if (byte !== null) return Uint8Array.of(parseInt(byte[1]!, 16));
    const before = decode([BEFORE]).join(""), text = decode([BEFORE, token]).join("");
    if (!text.startsWith(before) || !text.isWellFormed()) return null;
    return encoder.encode(text.slice(before.length));
  };
}
