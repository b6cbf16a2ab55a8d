/**
 * Turns the tokenizer in a GGUF file's metadata into a `tokenizer.json` and a
 * `tokenizer_config.json`: byte-level BPE ("gpt2") and SentencePiece BPE ("llama", whose merges
 * follow from the scores, and "gemma4", which lists them). Left out: the other kinds (t5, bert,
 * rwkv), which are refused by name.
 */
import { RgxError, UsageError } from "../../../core/errors.ts";
import type { AddedToken } from "../../tokenizers/components/added_tokens.ts";
import {
  BEGINNING,
  byteLevelBpe,
  sentencePieceBpe,
  splitMerges,
  type TokenizerParts,
} from "../../tokenizers/make_tokenizer_json.ts";
import type { GgufFile } from "./gguf.ts";

export const TOKEN_KIND = { normal: 1, unknown: 2, control: 3, userDefined: 4, unused: 5, byte: 6 };

export interface GgufTokenizer {
  /** Input of `tokenizerFromFiles`. */
  files: Map<string, string>;
  bosId: number | null;
  eosIds: number[];
  padId: number | null;
}

/**
 * @returns null when the file has no tokenizer
 * @throws UsageError for a kind that is not supported, RgxError when its parts contradict each
 *   other
 */
export function ggufTokenizer(file: GgufFile): GgufTokenizer | null {
  const read = new TokenizerMetadata(file);
  const model = read.text("model");
  if (model === null || model === "none" || model === "no_vocab") return null;
  if (!["gpt2", "llama", "gemma4"].includes(model)) {
    throw new UsageError(
      `${file.label}: the tokenizer is of the kind ${JSON.stringify(model)}, ` +
        `which is not supported (only "gpt2", "llama" and "gemma4")`,
      { advice: "Use a folder with the model's tokenizer.json." },
    );
  }
  const tokens = read.texts("tokens");
  if (tokens === null) throw new RgxError(`${file.label}: the tokenizer has no tokens`);
  const kinds = read.numbers("token_type", tokens.length) ?? tokens.map(() => TOKEN_KIND.normal);
  const id = (key: string) => read.tokenId(key, tokens.length);
  const bos = id("bos_token_id"), eos = id("eos_token_id"), unknown = id("unknown_token_id");
  const splitting = read.text("pre") ?? "";
  const bosByDefault = model !== "gpt2" || BEGINNING.has(splitting);
  const parts: TokenizerParts = {
    vocab: vocabulary(tokens, file.label),
    merges: model === "llama"
      ? mergesOfScores(tokens, kinds, read.numbers("scores", tokens.length), file.label)
      : splitMerges(read.texts("merges") ?? [], file.label),
    added: addedTokens(tokens, kinds),
    before: bos !== null && (read.flag("add_bos_token") ?? bosByDefault) ? [bos] : [],
    after: eos !== null && read.flag("add_eos_token") === true ? [eos] : [],
    unknown: model !== "gpt2" || kinds[unknown ?? 0] === TOKEN_KIND.unknown
      ? tokens[unknown ?? 0] ?? null
      : null,
  };
  for (const key of ["precompiled_charsmap", "remove_extra_whitespaces"]) read.refuse(key);
  const json = model === "gpt2"
    ? byteLevelBpe(parts, splitting, file.label)
    : sentencePieceBpe(parts, read.flag("add_space_prefix") ?? model === "llama");
  const pad = id("padding_token_id");
  const name = (token: number | null) => token === null ? undefined : tokens[token];
  const config = {
    bos_token: name(bos),
    eos_token: name(eos),
    pad_token: name(pad),
    unk_token: parts.unknown ?? undefined,
    add_bos_token: parts.before.length > 0,
    add_eos_token: parts.after.length > 0,
    clean_up_tokenization_spaces: false,
    tokenizer_class: "PreTrainedTokenizerFast",
    chat_template: read.text("chat_template", "tokenizer.chat_template") ?? undefined,
  };
  const ends = [eos, id("eot_token_id"), id("eom_token_id")].filter((end) => end !== null);
  return {
    files: new Map([
      ["tokenizer.json", JSON.stringify(json)],
      ["tokenizer_config.json", JSON.stringify(config, null, 2) + "\n"],
    ]),
    bosId: bos,
    eosIds: [...new Set(ends)],
    padId: pad,
  };
}

function vocabulary(tokens: readonly string[], where: string): Record<string, number> {
  const vocab: Record<string, number> = Object.create(null);
  tokens.forEach((token, id) => {
    if (vocab[token] !== undefined) {
      throw new RgxError(
        `${where}: the tokens ${vocab[token]} and ${id} are both ${JSON.stringify(token)}`,
      );
    }
    vocab[token] = id;
  });
  return vocab;
}

function addedTokens(tokens: readonly string[], kinds: readonly number[]): AddedToken[] {
  const added: AddedToken[] = [];
  tokens.forEach((content, id) => {
    const special = kinds[id] === TOKEN_KIND.control || kinds[id] === TOKEN_KIND.unknown;
    if ((special || kinds[id] === TOKEN_KIND.userDefined) && content !== "") {
      added.push({ id, content, special });
    }
  });
  return added;
}

/**
 * SentencePiece merges the two neighbours whose joint piece has the highest score. The equivalent
 * list of merges has every split of a piece into two pieces, ordered by the score of the whole
 * piece.
 */
function mergesOfScores(
  tokens: readonly string[],
  kinds: readonly number[],
  scores: readonly number[] | null,
  where: string,
): [left: string, right: string][] {
  if (scores === null) throw new RgxError(`${where}: the tokenizer has no scores`);
  const isPiece = (id: number) =>
    kinds[id] === TOKEN_KIND.normal || kinds[id] === TOKEN_KIND.userDefined;
  const pieces = new Map(
    tokens.flatMap((token, id) => isPiece(id) ? [[token, id] as const] : []),
  );
  const byScore = [...pieces].sort(([, a], [, b]) => scores[b]! - scores[a]! || a - b);
  const merges: [string, string][] = [];
  for (const [piece] of byScore) {
    const characters = Array.from(piece);
    let left = "";
    for (let i = 0; i + 1 < characters.length; i++) {
      left += characters[i];
      const right = piece.slice(left.length);
      if (pieces.has(left) && pieces.has(right)) merges.push([left, right]);
    }
  }
  return merges;
}

const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === "string");
const isNumbers = (value: unknown): value is number[] =>
  Array.isArray(value) && value.every((item) => typeof item === "number" && !Number.isNaN(item));

/** Typed reads of `tokenizer.ggml.*`; null where there is no value. */
class TokenizerMetadata {
  constructor(private readonly file: GgufFile) {}

  text(key: string, full = `tokenizer.ggml.${key}`): string | null {
    return this.#read(full, "a text", (value) => typeof value === "string");
  }

  flag(key: string): boolean | null {
    const isFlag = (value: unknown) => typeof value === "boolean";
    return this.#read(`tokenizer.ggml.${key}`, "true or false", isFlag);
  }

  texts(key: string): string[] | null {
    return this.#read(`tokenizer.ggml.${key}`, "a list of texts", isTexts);
  }

  numbers(key: string, length: number): number[] | null {
    const values = this.#read(`tokenizer.ggml.${key}`, "a list of numbers", isNumbers);
    if (values === null || values.length === length) return values;
    throw new RgxError(
      `${this.file.label}: tokenizer.ggml.${key} has ${values.length} values, ` +
        `there are ${length} tokens`,
    );
  }

  /** A token id. Some writers use an id beyond any vocabulary for "none". */
  tokenId(key: string, count: number): number | null {
    const isId = (value: unknown): value is number =>
      Number.isInteger(value) && value as number >= 0 &&
      (value as number < count || value === NONE);
    const id = this.#read(`tokenizer.ggml.${key}`, `an id below ${count}`, isId);
    return id === NONE ? null : id;
  }

  refuse(key: string): void {
    const value = this.file.metadata.get(`tokenizer.ggml.${key}`);
    if (value === undefined || value === false || Array.isArray(value) && value.length === 0) {
      return;
    }
    throw new UsageError(
      `${this.file.label}: tokenizer.ggml.${key} is set, which is not supported`,
      { advice: "Use a folder with the model's tokenizer.json." },
    );
  }

  /** @throws RgxError for a value of another type */
  #read<T>(key: string, expected: string, is: (value: unknown) => value is T): T | null {
    const value = this.file.metadata.get(key);
    if (value === undefined) return null;
    if (is(value)) return value;
    throw new RgxError(
      `${this.file.label}: the metadata "${key}" are ${String(value).slice(0, 40)}, ` +
        `expected ${expected}`,
    );
  }
}

/** The id that stands for no token. */
const NONE = 2 ** 32 - 1;
