/** Normalizers: how a tokenizer changes a text before it is cut into words. */
import { toByteCharacters } from "./byte_alphabet.ts";
import { componentOf, type Json } from "./component.ts";
import { replacer } from "./patterns.ts";

export type Normalizer = (text: string) => string;

const form = (name: string): () => Normalizer => () => (text) => text.normalize(name);

/** @throws NotSupported for an unknown kind, Error for one that is not as it should be */
export function normalizerOf(json: unknown): Normalizer | null {
  return componentOf<Normalizer>(json, {
    kinds: {
      NFC: form("NFC"),
      NFD: form("NFD"),
      NFKC: form("NFKC"),
      NFKD: form("NFKD"),
      Lowercase: () => lowercase,
      Strip: strip,
      Prepend: (part) => prepend(part["prepend"]),
      Replace: (part) => replacer(part, "Replace"),
      Nmt: () => (text) => text.replaceAll(NMT_REMOVED, "").replaceAll(NMT_SPACES, " "),
      Precompiled: (part) => precompiledNormalizer(String(part["precompiled_charsmap"] ?? "")),
      ByteLevel: () => toByteCharacters,
    },
    key: "normalizers",
    name: "normalizer",
    inTurn: (parts) => (text) => parts.reduce((normal, normalize) => normalize(normal), text),
  });
}

/** Control characters that SentencePiece's clean-up removes, and what it takes for a space. */
// deno-lint-ignore no-control-regex
const NMT_REMOVED = /[\x01-\x08\x0b\x0e-\x1f\x7f\x8f\x9f]/g;
const NMT_SPACES = /[\t\n\f\r\u1680\u200b-\u200f\u2028\u2029\u2581\ufeff\ufffd]/g;

function strip({ strip_left: left, strip_right: right }: Json): Normalizer {
  const starts = /^\p{White_Space}+/u;
  const isSpace = /\p{White_Space}/u;
  return (text) => {
    const rest = left === false ? text : text.replace(starts, "");
    // An expression that is anchored at the end would be tried at every space of the text.
    let end = rest.length;
    while (right !== false && end > 0 && isSpace.test(rest[end - 1]!)) end--;
    return rest.slice(0, end);
  };
}

function prepend(prefix: unknown): Normalizer {
  if (typeof prefix !== "string") throw new Error("a Prepend without a text");
  return (text) => text === "" ? "" : prefix + text;
}

// Each character in lower case by itself. JavaScript writes the last sigma of a Greek word
// differently from the others.

function lowercase(text: string): string {
  return text.includes("Σ")
    ? Array.from(text, (character) => character.toLowerCase()).join("")
    : text.toLowerCase();
}

// SentencePiece's normalization (`Precompiled` in a `tokenizer.json`): a table from characters to
// texts. In base64 it holds the length of a trie in bytes (u32), the trie (a double array of u32
// units, in the layout of darts-clone), and the texts, each of which ends with a zero byte.
// As in Hugging Face's tokenizers, grapheme clusters of less than six bytes are looked up first,
// then single characters. The shortest entry that a cluster begins with replaces all of it.

const MAX_BYTES = 5;

/** @throws Error when the text is not such a table */
function precompiledNormalizer(base64: string): (text: string) => string {
  const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
  if (bytes.length === 0) return (text) => text;
  const view = new DataView(bytes.buffer), size = bytes.length < 4 ? -1 : view.getUint32(0, true);
  if (size < 4 || size % 4 !== 0 || 4 + size > bytes.length) {
    throw new Error("its precompiled_charsmap is cut off");
  }
  const unit = (at: number) => at < size / 4 ? view.getUint32(4 + 4 * at, true) : 0;
  const texts = bytes.subarray(4 + size);
  const encoder = new TextEncoder(), decoder = new TextDecoder();
  const clusters = new Intl.Segmenter("en", { granularity: "grapheme" });

  /** The text that replaces one that begins with an entry, or null when it begins with none. */
  const lookUp = (key: Uint8Array): string | null => {
    let node = unit(0), at = offset(node);
    for (const byte of key) {
      at = (at ^ byte) >>> 0;
      node = unit(at);
      if (byte === 0 || (node & 0x800000ff) !== byte) return null;
      at = (at ^ offset(node)) >>> 0;
      if ((node >>> 8 & 1) === 0) continue;
      const from = unit(at) & 0x7fffffff, end = texts.indexOf(0, from);
      return decoder.decode(texts.subarray(from, end < 0 ? undefined : end));
    }
    return null;
  };
  const known = new Map<string, string>();
  const normalized = (cluster: string): string => {
    let found = known.get(cluster);
    if (found === undefined) {
      const key = encoder.encode(cluster);
      const whole = key.length <= MAX_BYTES ? lookUp(key) : null;
      found = whole ?? Array.from(cluster, (c) => lookUp(encoder.encode(c)) ?? c).join("");
      if (known.size < 10_000) known.set(cluster, found);
    }
    return found;
  };
  return (text) => {
    let out = "";
    for (const { segment } of clusters.segment(text)) out += normalized(segment);
    return out;
  };
}

function offset(unit: number): number {
  return (unit >>> 10) << ((unit & 0x200) >>> 6);
}
