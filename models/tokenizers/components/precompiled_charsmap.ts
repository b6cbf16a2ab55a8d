/**
 * SentencePiece's normalization (`Precompiled` in a `tokenizer.json`): a table from characters to
 * texts. In base64 it holds the length of a trie in bytes (u32), the trie (a double array of u32
 * units, in the layout of darts-clone), and the texts, each of which ends with a zero byte.
 * As in Hugging Face's tokenizers, grapheme clusters of less than six bytes are looked up first,
 * then single characters. The shortest entry that a cluster begins with replaces all of it.
 */

const MAX_BYTES = 5;

/** @throws Error when the text is not such a table */
export function precompiledNormalizer(base64: string): (text: string) => string {
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
