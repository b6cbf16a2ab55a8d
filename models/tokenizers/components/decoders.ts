/** Decoders: how a tokenizer makes a text of tokens. */
import { pushTokenBytes } from "./byte_alphabet.ts";
import { componentOf, type Json } from "./component.ts";
import { replacer } from "./patterns.ts";

export type Decoder = (tokens: readonly string[]) => string[];

/** @throws Error for an unknown kind, and for one that is not as it should be */
export function decoderOf(json: unknown): Decoder | null {
  return componentOf<Decoder>(json, {
    kinds: {
      ByteLevel: () => byteLevel,
      ByteFallback: () => byteFallback,
      Fuse: () => (tokens) => [tokens.join("")],
      Metaspace: metaspace,
      Strip: strip,
      Replace: (part) => {
        const replace = replacer(part, "Replace");
        return (tokens) => tokens.map(replace);
      },
    },
    key: "decoders",
    name: "decoder",
    inTurn: (decoders) => (tokens) =>
      decoders.reduce((parts, decode) => decode(parts), [...tokens]),
  });
}

const lossy = new TextDecoder("utf-8", { ignoreBOM: true });
const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function byteLevel(tokens: readonly string[]): string[] {
  const bytes: number[] = [];
  for (const token of tokens) pushTokenBytes(token, bytes);
  return [lossy.decode(Uint8Array.from(bytes))];
}

/** Tokens such as <0x0A>, side by side, become their text, or U+FFFD each where they make none. */
function byteFallback(tokens: readonly string[]): string[] {
  const parts: string[] = [];
  let bytes: number[] = [];
  const flush = () => {
    for (const text of textsOfBytes(bytes)) parts.push(text);
    bytes = [];
  };
  for (const token of tokens) {
    // Most tokens have another length, which costs less to see than an expression.
    if (token.length === 6 && /^<0x[0-9A-Fa-f]{2}>$/.test(token)) {
      bytes.push(parseInt(token.slice(3, 5), 16));
    } else {
      flush();
      parts.push(token);
    }
  }
  flush();
  return parts;
}

function textsOfBytes(bytes: readonly number[]): string[] {
  if (bytes.length === 0) return [];
  try {
    return [strict.decode(Uint8Array.from(bytes))];
  } catch {
    return bytes.map(() => "\ufffd");
  }
}

/** The mark of a space becomes a space; in the first token it is a prefix that goes away. */
function metaspace(part: Json): Decoder {
  const mark = typeof part["replacement"] === "string" ? part["replacement"] : "▁";
  const scheme = part["prepend_scheme"] ??
    (part["add_prefix_space"] === false ? "never" : "always");
  return (tokens) =>
    tokens.map((token, i) => token.replaceAll(mark, i === 0 && scheme !== "never" ? "" : " "));
}

/** Takes a character off the ends of each token, at most as often as the component says. */
function strip({ content, start, stop }: Json): Decoder {
  const atStart = Number(start ?? 0), atEnd = Number(stop ?? 0), one = String(content);
  return (tokens) =>
    tokens.map((token) => {
      let rest = token;
      for (let i = 0; i < atStart && rest.startsWith(one); i++) rest = rest.slice(one.length);
      for (let i = 0; i < atEnd && rest.endsWith(one); i++) rest = rest.slice(0, -one.length);
      return rest;
    });
}
