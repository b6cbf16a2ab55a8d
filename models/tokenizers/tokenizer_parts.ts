/**
 * Parts of a `tokenizer.json` in the words that the library gets right. Its own idea of a space is JavaScript's, it does
 * not know SentencePiece's clean-up (Nmt), and takes "$" in a replacement for a sign of its own.
 */

/** A part that rgx does not compute. */
export class NotSupported extends Error {}

/** Letters, digits, marks and connectors, as a part of a class of characters. */
export const WORD_CHARACTERS = String.raw`\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\u200c\u200d`;

type Json = Readonly<Record<string, unknown>>;

const NORMALIZERS = new Set([
  ...["NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Prepend", "BertNormalizer"],
  "Precompiled",
]);

const replace = (regex: string, content: string): Json => ({
  ...{ type: "Replace", pattern: { Regex: regex }, content },
});

/** @throws NotSupported that names the part */
export function libraryNormalizer(json: unknown): Json | null {
  if (json === null || json === undefined) return null;
  const part = Object(json) as Json, { type } = part;
  switch (type) {
    case "Sequence": {
      const { normalizers } = part;
      if (!Array.isArray(normalizers)) throw new Error("a Sequence of normalizers without any");
      return { ...part, normalizers: normalizers.map(libraryNormalizer) };
    }
    case "Replace":
      return withLiteralContent(part);
    case "Strip":
      return {
        type: "Sequence",
        normalizers: [
          ...part["strip_left"] === false ? [] : [replace(String.raw`\A\s+`, "")],
          ...part["strip_right"] === false ? [] : [replace(String.raw`\s+\z`, "")],
        ],
      };
    case "Nmt":
      return {
        type: "Sequence",
        normalizers: [
          replace(String.raw`[\x01-\x08\x0b\x0e-\x1f\x7f\x8f\x9f]`, ""),
          replace(
            String.raw`[\x09\x0a\x0c\x0d\u1680\u200b-\u200f\u2028\u2029\u2581\ufeff\ufffd]`,
            " ",
          ),
        ],
      };
  }
  if (typeof type === "string" && NORMALIZERS.has(type)) return part;
  throw new NotSupported(`the normalizer ${JSON.stringify(type)}`);
}

/** A part (or a Sequence of decoders) whose replacements mean what they say. */
export function withLiteralContent<T>(json: T): T {
  const part = Object(json) as Json, { type, content, decoders } = part;
  if (type === "Sequence" && Array.isArray(decoders)) {
    return { ...json, decoders: decoders.map(withLiteralContent) };
  }
  if (type !== "Replace" || typeof content !== "string") return json;
  return { ...json, content: content.replaceAll("$", "$$$$") };
}

/** Each character by itself: the last letter of a Greek word is like the others. */
export function lowercase(text: string): string {
  return text.includes("Σ")
    ? Array.from(text, (c) => c.toLowerCase()).join("")
    : text.toLowerCase();
}
