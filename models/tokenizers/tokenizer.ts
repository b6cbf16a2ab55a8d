/**
 * Tokenizers of Hugging Face folders: `tokenizer.json` (or `vocab.json` and `merges.txt`) run by
 * `@huggingface/tokenizers`, the special tokens of `tokenizer_config.json` (or `special_tokens_map.json`),
 * and the chat template, in which special tokens in a message's content stay text.
 * Left out: SentencePiece `.model` files, tiktoken.
 */
import type { Tokenizer as HfTokenizer } from "@huggingface/tokenizers";
import { messageOf, RgxError, UsageError } from "../../core/errors.ts";
import { readText } from "../../core/text_file.ts";
import { type BpeTokenizer, type PieceEncoder, pieceEncoder } from "./bpe_pieces.ts";
import { type ChatRenderer, compileChatTemplate, selectChatTemplate } from "./chat_template.ts";
import { decodeByTable, type DecodeTable, decodeTable } from "./decode_table.ts";
import { DAMAGED_ADVICE, parseJsonObject } from "../../core/json_file.ts";
import { namedSpecials, withSpecials } from "./named_specials.ts";
import { SpecialTokens } from "./special_tokens.ts";
import { checkTokenizerJson } from "./tokenizer_checks.ts";
import { createTokenizer, tokensAround } from "./tokenizer_library.ts";
import { NotSupported } from "./tokenizer_parts.ts";
import type { Tokenizer } from "./types.ts";
import { tokenizerFromVocabulary, VOCABULARY_FILES } from "./vocab_merges.ts";

/** Everything in a model folder that belongs to its tokenizer. */
export const TOKENIZER_FILES = [
  "tokenizer.json",
  "tokenizer_config.json",
  "special_tokens_map.json",
  "added_tokens.json",
  "chat_template.jinja",
] as const;

/**
 * Reads the tokenizer of a model folder.
 * @throws UsageError when the folder has none, RgxError when one of its files cannot be used
 */
export async function loadTokenizer(folder: string): Promise<Tokenizer> {
  const files = new Map<string, string>();
  for (const name of TOKENIZER_FILES) {
    try {
      files.set(name, await readText(`${folder}/${name}`));
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  }
  if (!files.has("tokenizer.json") && await hasTokenizer(folder)) {
    return tokenizerFromFiles(await tokenizerFromVocabulary(folder, files), folder);
  }
  if (!files.has("tokenizer.json")) {
    throw noTokenizer(
      folder,
      "Name the folder of a Hugging Face model, or set tokenizer_name_or_path.",
    );
  }
  return tokenizerFromFiles(files, folder);
}

/** @param where the folder or file without one */
export function noTokenizer(where: string, advice: string): UsageError {
  return new UsageError(`${where}: no tokenizer: looked for tokenizer.json`, {
    advice: `${advice} Older tokenizers (tokenizer.model, vocab.txt) are converted by saving ` +
      "them once with transformers.",
  });
}

/** Whether a folder has a tokenizer, or a part of one. */
export async function hasTokenizer(folder: string): Promise<boolean> {
  const names: readonly string[] = ["tokenizer.json", ...VOCABULARY_FILES];
  for await (const { name } of Deno.readDir(folder)) {
    if (names.includes(name)) return true;
  }
  return false;
}

/**
 * The same from files in memory, name → text; `tokenizer.json` must be among them.
 * @param where folder or other origin, for messages
 * @throws RgxError when a file cannot be used
 */
export function tokenizerFromFiles(
  files: ReadonlyMap<string, string>,
  where: string,
): Tokenizer {
  for (const reference of recent) {
    const known = reference.deref();
    if (known?.isFrom(files, where)) return known;
  }
  const tokenizer = new HuggingFaceTokenizer(files, where);
  recent.unshift(new WeakRef(tokenizer));
  recent.length = Math.min(recent.length, MOST_RECENT);
  return tokenizer;
}

/** A model is looked at, then loaded, and others on its base follow: their tokenizer is made once. */
const recent: WeakRef<HuggingFaceTokenizer>[] = [];
const MOST_RECENT = 4;

interface Surroundings {
  before: readonly number[];
  after: readonly number[];
}

const NOTHING: Surroundings = { before: [], after: [] };

class HuggingFaceTokenizer implements Tokenizer {
  readonly vocabSize: number;
  readonly eosId: number | null;
  readonly padId: number | null;
  readonly #files: ReadonlyMap<string, string>;
  readonly #hf: HfTokenizer;
  readonly #specialIds: ReadonlySet<number>;
  readonly #specials: SpecialTokens;
  readonly #unknownId: number | null;
  /** Knows no special tokens; made when it is needed first. */
  #plain: HfTokenizer | null = null;
  readonly #cleanUpSpaces: boolean;
  readonly #encodePieces: PieceEncoder | null;
  readonly #decodeTable: DecodeTable | null;
  #around: Surroundings | null = null;
  readonly #renderChat: ChatRenderer | null;
  readonly #where: string;

  constructor(files: ReadonlyMap<string, string>, where: string) {
    this.#files = new Map(files);
    this.#where = where;
    const config = parseJson(files, "tokenizer_config.json", where) ?? {};
    const map = parseJson(files, "special_tokens_map.json", where) ?? {};
    const { roles: specials, others, all } = namedSpecials(config, map);
    const tokenizerJson = parseJson(files, "tokenizer.json", where)!;
    this.#hf = createHfTokenizer(tokenizerJson, { ...config, ...specials }, where, all);
    let largest = -1;
    for (const id of this.#hf.get_vocab().values()) largest = Math.max(largest, id);
    this.vocabSize = largest + 1;
    const specialIds = others.map((token) => this.tokenId(token));
    for (const [id, token] of this.#hf.get_added_tokens_decoder()) {
      if (token.special) specialIds.push(id);
    }
    this.#specialIds = new Set(specialIds.filter((id) => id !== null));
    this.#specials = new SpecialTokens(
      [...this.#specialIds].map((id) => this.#hf.id_to_token(id)!),
    );
    this.#unknownId = specials["unk_token"] === undefined
      ? null
      : this.tokenId(specials["unk_token"]);
    this.eosId = this.#roleId(specials, "eos_token");
    this.padId = this.#roleId(specials, "pad_token");
    // As transformers 5 does: the clean-up takes spaces away that a BPE means, whatever older files ask for.
    this.#cleanUpSpaces = config["clean_up_tokenization_spaces"] === true &&
      (tokenizerJson["model"] as { type?: unknown }).type !== "BPE";
    this.#encodePieces = pieceEncoder(this.#hf as unknown as BpeTokenizer);
    const tokens = () =>
      Array.from({ length: this.vocabSize }, (_, id) => this.#hf.id_to_token(id));
    this.#decodeTable = this.#cleanUpSpaces
      ? null
      : decodeTable(tokenizerJson["decoder"], tokens, this.#specialIds);
    const jinja = files.get("chat_template.jinja");
    const templateFile = jinja === undefined ? "tokenizer_config.json" : "chat_template.jinja";
    const template = jinja ??
      selectChatTemplate(config["chat_template"], `${where}/${templateFile}`);
    this.#renderChat = template === null
      ? null
      : compileChatTemplate(template, specials, `${where}/${templateFile}`);
  }

  encode(
    text: string,
    options: { addSpecialTokens?: boolean; literal?: boolean } = {},
  ): number[] {
    const { addSpecialTokens = true, literal = false } = options;
    if (!literal && !this.#specials.hasMarks(text)) {
      if (this.#encodePieces !== null) {
        const { before, after } = addSpecialTokens ? this.#surroundings() : NOTHING;
        const ids = this.#encodePieces(text, before);
        if (ids !== null) return after.length === 0 ? ids : [...ids, ...after];
      }
      return this.#checked(
        this.#hf.encode(text, { add_special_tokens: addSpecialTokens }).ids,
        text,
      );
    }
    const ids = literal
      ? this.#encodeLiteral(text)
      : this.#specials.pieces(text).flatMap((piece) =>
        piece.special ? [this.tokenId(piece.text)!] : this.#encodeLiteral(piece.text)
      );
    if (!addSpecialTokens) return ids;
    const { before, after } = this.#surroundings();
    return [...before, ...ids, ...after];
  }

  /** Ids of a text whose special tokens are text. */
  #encodeLiteral(text: string): number[] {
    const encode = (part: string, hf: HfTokenizer) =>
      this.#checked(hf.encode(part, { add_special_tokens: false }).ids, text);
    const ids = encode(text, this.#hf);
    if (!ids.some((id) => this.#specialIds.has(id))) return ids;
    // What has no token is the unknown one, which may serve as another, too.
    const isRead = (id: number) => this.#specialIds.has(id) && id !== this.#unknownId;
    const plain = this.#plain ??= this.#withoutSpecialTokens();
    const again = encode(text, plain);
    if (!again.some(isRead)) return again;
    // Its model itself has them as pieces of text.
    return this.#specials.apart(text).flatMap((part) => encode(part, plain))
      .filter((id) => !isRead(id));
  }

  #withoutSpecialTokens(): HfTokenizer {
    const json = parseJson(this.#files, "tokenizer.json", this.#where)!;
    const added = (json["added_tokens"] ?? []) as { id: number }[];
    const kept = added.filter(({ id }) => !this.#specialIds.has(id));
    return createHfTokenizer({ ...json, added_tokens: kept }, {}, this.#where);
  }

  /** The ids that belong before and after a text. */
  #surroundings(): Surroundings {
    if (this.#around !== null) return this.#around;
    const { before, after } = tokensAround(this.#hf);
    const ids = (tokens: readonly string[]) =>
      this.#checked(tokens.map((token) => this.#hf.token_to_id(token)!), tokens.join(" "));
    return this.#around = { before: ids(before), after: ids(after) };
  }

  #checked(ids: number[], text: string): number[] {
    const bad = (ids as (number | undefined)[]).indexOf(undefined);
    if (bad >= 0) {
      throw new RgxError(
        `${this.#where}/tokenizer.json: the text ${JSON.stringify(text.slice(0, 60))} ` +
          `contains something that has no token, and the tokenizer has no unknown token`,
      );
    }
    return ids;
  }

  /** Ids beyond the vocabulary (a model's padding rows) decode to nothing. */
  decode(ids: readonly number[], options: { skipSpecialTokens?: boolean } = {}): string {
    const skip = options.skipSpecialTokens ?? false;
    const known = this.#decodeTable === null ? null : decodeByTable(this.#decodeTable, ids, skip);
    if (known !== null) return known;
    const kept = ids.filter((id) =>
      this.#hf.id_to_token(id) !== undefined && !(skip && this.#specialIds.has(id))
    );
    if (kept.length === 0) return "";
    return this.#hf.decode(kept, { clean_up_tokenization_spaces: this.#cleanUpSpaces });
  }

  tokenId(token: string): number | null {
    return this.#hf.token_to_id(token) ?? null;
  }

  applyChatTemplate(messages: readonly { role: string; content: string }[]): string | null {
    if (this.#renderChat === null) return null;
    return this.#renderChat(
      messages.map(({ role, content }) => ({ role, content: this.#specials.mark(content) })),
    );
  }

  files(): ReadonlyMap<string, string> {
    return this.#files;
  }

  /** Whether it was made of these files. */
  isFrom(files: ReadonlyMap<string, string>, where: string): boolean {
    return where === this.#where && files.size === this.#files.size &&
      [...files].every(([name, text]) => this.#files.get(name) === text);
  }

  #roleId(specials: Record<string, string>, role: string): number | null {
    const token = specials[role];
    if (token === undefined) return null;
    const id = this.tokenId(token);
    if (id === null) {
      throw new RgxError(
        `${this.#where}: the ${role} is ${JSON.stringify(token)}, which is not in tokenizer.json`,
        { advice: "tokenizer.json and tokenizer_config.json belong to different models." },
      );
    }
    return id;
  }
}

/** @param specials texts of tokens that are special, as far as the vocabulary has them */
function createHfTokenizer(
  json: Record<string, unknown>,
  config: Record<string, unknown>,
  where: string,
  specials: readonly string[] = [],
): HfTokenizer {
  checkTokenizerJson(json, where);
  try {
    return createTokenizer(withSpecials(json, specials), config);
  } catch (error) {
    if (error instanceof NotSupported) {
      throw new UsageError(`${where}/tokenizer.json: ${error.message} is not supported`, {
        advice: "Texts would be cut otherwise than in the model's training.",
      });
    }
    throw new RgxError(
      `${where}/tokenizer.json: not a usable tokenizer: ${messageOf(error)}`,
      { advice: DAMAGED_ADVICE, cause: error },
    );
  }
}

function parseJson(
  files: ReadonlyMap<string, string>,
  name: string,
  where: string,
): Record<string, unknown> | null {
  const text = files.get(name);
  return text === undefined ? null : parseJsonObject(text, `${where}/${name}`);
}
