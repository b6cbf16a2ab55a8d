/**
 * The tokenizer library, where it does otherwise than Hugging Face's tokenizers, put right: words (pre_tokenizers.ts),
 * added tokens (added_tokens.ts), some normalizers and decoders, unknown characters. What cannot be computed so is
 * refused by its name.
 */
import {
  ByteFallbackDecoder,
  LowercaseNormalizer,
  MetaspaceDecoder,
  PrecompiledNormalizer,
  PrependNormalizer,
  Tokenizer as HfTokenizer,
} from "@huggingface/tokenizers";
import { type AddedToken, tokenFinder } from "./added_tokens.ts";
import { useFasterMerges } from "./bpe_merges.ts";
import { precompiledNormalizer } from "./precompiled_charsmap.ts";
import { BYTES, type PreTokenizer, preTokenizer } from "./pre_tokenizers.ts";
import {
  libraryNormalizer,
  lowercase,
  NotSupported,
  withLiteralContent,
} from "./tokenizer_parts.ts";

type Json = Readonly<Record<string, unknown>>;

/** What this file knows of the library's tokenizer. */
interface Library {
  normalizer: Normalizer | null;
  pre_tokenizer: unknown;
  decoder: Decoder | null;
  model: Model;
  readonly post_processor: ((tokens: string[]) => { tokens: string[] }) | null;
  added_tokens: readonly AddedToken[];
  encode_text(text: string | null): string[] | null;
}

interface Normalizer {
  (text: string): string;
  readonly config?: Json;
  readonly normalizers?: readonly (Normalizer | null)[];
  normalize(text: string): string;
}

interface Decoder {
  readonly config: Json;
  readonly decoders?: readonly Decoder[];
  decode_chain(tokens: string[]): string[];
}

interface Model {
  (words: readonly string[]): string[];
  encode(words: readonly string[]): string[];
  readonly tokens_to_ids: ReadonlyMap<string, number>;
  readonly fuse_unk: boolean;
  bpe?: (word: string) => string[];
}

/**
 * @param json `tokenizer.json`, checked
 * @param config special tokens and `tokenizer_config.json`
 * @throws NotSupported for a part that cannot be computed, Error for one that is not as it should be
 */
export function createTokenizer(json: Json, config: Json): HfTokenizer {
  const model = Object(json["model"]) as Json, cut = preTokenizer(json["pre_tokenizer"]);
  if (model["type"] === "BPE" && model["continuing_subword_prefix"]) {
    throw new NotSupported("a BPE with a continuing_subword_prefix");
  }
  const { remove_space: _, do_lowercase_and_remove_accent: __, ...ofConfig } = config;
  const parts = {
    ...json,
    normalizer: libraryNormalizer(json["normalizer"]),
    pre_tokenizer: null,
    post_processor: json["post_processor"] ?? null,
    decoder: withLiteralContent(json["decoder"] ?? null),
    added_tokens: json["added_tokens"] ?? [],
  };
  // The library knows the unknown word of a WordLevel model from the configuration only.
  const unknown = model["type"] === "WordLevel" ? { unk_token: model["unk_token"] } : {};
  const tokenizer = new HfTokenizer(parts, { ...ofConfig, ...unknown });
  const library = tokenizer as unknown as Library;
  library.pre_tokenizer = cut;
  mendNormalizer(library.normalizer);
  if (library.decoder !== null) mendDecoder(library.decoder);
  useFasterMerges(library.model, cut !== null);
  mendUnknown(library.model, model);
  library.encode_text = encoder(library, cut);
  return tokenizer;
}

/** The tokens that stand before and after those of any text. */
export function tokensAround(tokenizer: HfTokenizer): { before: string[]; after: string[] } {
  const text = "\ufdd0", { post_processor: process } = tokenizer as unknown as Library;
  const whole = process?.([text]).tokens ?? [text], at = whole.indexOf(text);
  return at < 0
    ? { before: [], after: [] }
    : { before: whole.slice(0, at), after: whole.slice(at + 1) };
}

function mendNormalizer(part: Normalizer | null): void {
  if (part instanceof LowercaseNormalizer) part.normalize = lowercase;
  if (part instanceof PrecompiledNormalizer) {
    part.normalize = precompiledNormalizer(String(part.config["precompiled_charsmap"] ?? ""));
  }
  if (part instanceof PrependNormalizer) {
    const prefix = String(part.config["prepend"]);
    part.normalize = (text) => text === "" ? "" : prefix + text;
  }
  for (const inner of part?.normalizers ?? []) mendNormalizer(inner);
}

function mendDecoder(part: Decoder): void {
  if (part instanceof ByteFallbackDecoder) part.decode_chain = joinBytes;
  if (part instanceof MetaspaceDecoder) part.decode_chain = spaces(part.config);
  for (const inner of part.decoders ?? []) mendDecoder(inner);
}

/** Characters that have no token. */
function mendUnknown(model: Model, json: Json): void {
  const { tokens_to_ids: ids, encode, bpe } = model;
  if (json["type"] === "Unigram" && json["byte_fallback"] === true) {
    const encoder = new TextEncoder();
    model.encode = (words) =>
      encode.call(model, words).flatMap((piece) => {
        if (ids.has(piece)) return [piece];
        const bytes = Array.from(encoder.encode(piece), byteToken);
        return bytes.every((token) => ids.has(token)) ? bytes : [piece];
      });
  }
  // Without a token for what is unknown it is gone before its neighbours are merged.
  const dropped = json["unk_token"] === null || json["unk_token"] === undefined;
  if (bpe !== undefined && dropped && !json["byte_fallback"] && !BYTES.every((c) => ids.has(c))) {
    model.bpe = (word) => bpe(Array.from(word).filter((char) => ids.has(char)).join(""));
  }
}

const byteToken = (byte: number) => `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`;

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Byte tokens side by side as their text; where that is none, a sign for each of them. */
function joinBytes(tokens: readonly string[]): string[] {
  const joined: string[] = [];
  let bytes: number[] = [];
  const flush = () => {
    if (bytes.length > 0) joined.push(textOf(bytes));
    bytes = [];
  };
  for (const token of tokens) {
    if (/^<0x[0-9A-Fa-f]{2}>$/.test(token)) bytes.push(parseInt(token.slice(3, 5), 16));
    else {
      flush();
      joined.push(token);
    }
  }
  flush();
  return joined;
}

function textOf(bytes: readonly number[]): string {
  try {
    return utf8.decode(Uint8Array.from(bytes));
  } catch {
    return "\ufffd".repeat(bytes.length);
  }
}

/** In the first token the mark of a space is a prefix and nothing else. */
function spaces(config: Json): Decoder["decode_chain"] {
  const mark = typeof config["replacement"] === "string" ? config["replacement"] : "▁";
  const hasPrefix = config["prepend_scheme"] !== "never" &&
    !(config["prepend_scheme"] === undefined && config["add_prefix_space"] === false);
  return (tokens) =>
    tokens.map((token, i) => token.replaceAll(mark, i === 0 && hasPrefix ? "" : " "));
}

/** Tokens of a text: added ones, and between them those of the model. */
function encoder(library: Library, cut: PreTokenizer | null): Library["encode_text"] {
  const { normalizer, model, added_tokens: added } = library;
  const asWritten = tokenFinder(
    new Map(added.filter((token) => !token.normalized).map((token) => [token.content, token])),
  );
  const afterwards = tokenFinder(
    new Map(
      added.filter((token) => token.normalized)
        .map((token) => [normalizer?.(token.content) ?? token.content, token]),
    ),
  );
  // Unknown characters are put together within a word only.
  const tokensOf = (words: readonly string[]) =>
    model.fuse_unk && words.length > 1 ? words.flatMap((word) => model([word])) : model(words);
  return (text) => {
    if (text === null) return null;
    const tokens: string[] = [];
    const push = (found: readonly string[]) => {
      for (const token of found) tokens.push(token);
    };
    for (const outer of asWritten(text)) {
      if (outer.token !== null) {
        tokens.push(outer.token.content);
        continue;
      }
      const normal = normalizer?.(outer.text) ?? outer.text;
      for (const { token, text, at } of afterwards(normal)) {
        if (token !== null) tokens.push(token.content);
        else push(tokensOf(cut === null ? [text] : cut(text, outer.at === 0 && at === 0)));
      }
    }
    return tokens;
  };
}
