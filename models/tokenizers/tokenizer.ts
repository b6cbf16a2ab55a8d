/**
 * Tokenizers of Hugging Face folders: `tokenizer.json` (or `vocab.json` and `merges.txt`), the
 * special tokens of `tokenizer_config.json` (or `special_tokens_map.json`), and the chat template,
 * in which special tokens in a message's content stay text.
 * Left out: SentencePiece `.model` files, tiktoken.
 */
import type { ChatMessage } from "../../core/chat_message.ts";
import { messageOf, RgxError, UsageError } from "../../core/errors.ts";
import type { LocalTime } from "../../core/local_time.ts";
import { readText } from "../../core/text_file.ts";
import {
  type ChatEnding,
  type ChatRenderer,
  compileChatTemplate,
  selectChatTemplate,
} from "./chat_template.ts";
import { Damaged, type Json, NotSupported } from "./components/component.ts";
import { decoderOf } from "./components/decoders.ts";
import { DAMAGED_ADVICE, isRecord, parseJsonObject } from "../../core/json_file.ts";
import { namedSpecials, withSpecials } from "./named_specials.ts";
import { type Finders, TokenizerPipeline } from "./pipeline.ts";
import { MissingToken } from "./subwords/subword_model.ts";
import { formatTime } from "./jinja/globals.ts";
import type { Tokenizer } from "./types.ts";
import { tokenizerFromVocabulary, VOCABULARY_FILES } from "./vocab_merges.ts";
import { pushTokenBytes } from "./components/byte_alphabet.ts";

/** The files of a model folder that belong to its tokenizer. */
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
  if (!files.has("tokenizer.json") && await hasAny(folder, VOCABULARY_FILES)) {
    return tokenizerFromFiles(await tokenizerFromVocabulary(folder, files), folder);
  }
  if (!files.has("tokenizer.json")) {
    if (await hasAny(folder, ["tokenizer.json"])) {
      throw new RgxError(`${folder}/tokenizer.json: it is a link that leads to no file`, {
        advice: "Mend the link, or fetch the file.",
      });
    }
    throw noTokenizer(
      folder,
      "Name the folder of a Hugging Face model, or set tokenizer_name_or_path.",
    );
  }
  return tokenizerFromFiles(files, folder);
}

/** The error for a folder or file without a tokenizer. @param where its path */
export function noTokenizer(where: string, advice: string): UsageError {
  return new UsageError(`${where}: no tokenizer: looked for tokenizer.json`, {
    advice: `${advice} Older tokenizers (tokenizer.model, vocab.txt) are converted by saving ` +
      "them once with transformers.",
  });
}

/** Whether a folder has any file of a tokenizer's vocabulary. */
export async function hasTokenizer(folder: string): Promise<boolean> {
  return await hasAny(folder, ["tokenizer.json", ...VOCABULARY_FILES]);
}

async function hasAny(folder: string, names: readonly string[]): Promise<boolean> {
  for await (const { name } of Deno.readDir(folder)) {
    if (names.includes(name)) return true;
  }
  return false;
}

/**
 * Makes a tokenizer from files in memory. The last few that were made are kept and used again.
 * @param files name → text; `tokenizer.json` must be among them
 * @param templateFrom the origin of `chat_template.jinja`, where it is another one
 * @throws RgxError when a file cannot be used
 */
export function tokenizerFromFiles(
  files: ReadonlyMap<string, string>,
  where: string,
  templateFrom?: string,
): Tokenizer {
  for (const reference of recent) {
    const known = reference.deref();
    if (known?.isFrom(files, where)) return known;
  }
  const tokenizer = new HuggingFaceTokenizer(files, where, templateFrom);
  recent.unshift(new WeakRef(tokenizer));
  recent.length = Math.min(recent.length, MAX_RECENT);
  return tokenizer;
}

/** Loading a model, and others with the same base, asks for the same tokenizer several times. */
const recent: WeakRef<HuggingFaceTokenizer>[] = [];
const MAX_RECENT = 4;

const NOTHING = { before: [], after: [] };

class HuggingFaceTokenizer implements Tokenizer {
  readonly vocabSize: number;
  readonly eosId: number | null;
  readonly padId: number | null;
  readonly #files: ReadonlyMap<string, string>;
  readonly #pipeline: TokenizerPipeline;
  readonly #specialIds: ReadonlySet<number>;
  readonly #specials: SpecialTokens;
  readonly #unknownId: number | null;
  /** Finders of the added tokens that are not special. Made when they are first needed. */
  #plainFinders: Finders | null = null;
  readonly #tokenBytes: TokenBytes;
  #around: { before: number[]; after: number[] } | null = null;
  readonly #renderChat: ChatRenderer | null;
  readonly chatReadsClock: boolean;
  readonly #where: string;

  constructor(files: ReadonlyMap<string, string>, where: string, templateFrom?: string) {
    this.#files = new Map(files);
    this.#where = where;
    const config = parseJson(files, "tokenizer_config.json", where) ?? {};
    const map = parseJson(files, "special_tokens_map.json", where) ?? {};
    const { roles: specials, others, all } = namedSpecials(config, map);
    const tokenizerJson = parseJson(files, "tokenizer.json", where)!;
    const pipeline = createPipeline(tokenizerJson, where, all);
    this.#pipeline = pipeline;
    this.vocabSize = pipeline.tokens.length;
    const specialIds = others.map((token) => this.tokenId(token));
    for (const { id, special } of pipeline.added) {
      if (special) specialIds.push(id);
    }
    this.#specialIds = new Set(specialIds.filter((id) => id !== null));
    this.#specials = new SpecialTokens([...this.#specialIds].map((id) => pipeline.tokens[id]!));
    this.#unknownId = specials["unk_token"] === undefined
      ? null
      : this.tokenId(specials["unk_token"]);
    this.eosId = this.#roleId(specials, "eos_token");
    this.padId = this.#roleId(specials, "pad_token");
    this.#tokenBytes = tokenBytes(tokenizerJson["decoder"]);
    const jinja = files.get("chat_template.jinja");
    const name = jinja === undefined ? "tokenizer_config.json" : "chat_template.jinja";
    const templateFile = templateFrom ?? `${where}/${name}`;
    const template = jinja ?? selectChatTemplate(config["chat_template"], templateFile);
    this.chatReadsClock = /\bstrftime_now\b/.test(template ?? "");
    this.#renderChat = template === null
      ? null
      : compileChatTemplate(template, specials, templateFile);
  }

  encode(
    text: string,
    options: { addSpecialTokens?: boolean; literal?: boolean } = {},
  ): number[] {
    const { addSpecialTokens = true, literal = false } = options;
    const { before, after } = addSpecialTokens ? this.#surroundings() : NOTHING;
    const ids = literal || this.#specials.hasMarks(text)
      ? [...before, ...this.#encodeMarked(text, literal)]
      : this.#checked(text, () => this.#pipeline.encode(text, before));
    return after.length === 0 ? ids : [...ids, ...after];
  }

  /** The ids of a text of whose special tokens the marked ones (or all, if literal) are text. */
  #encodeMarked(text: string, literal: boolean): number[] {
    if (literal) return this.#encodeLiteral(text);
    return this.#specials.pieces(text).flatMap((piece) =>
      piece.special ? [this.tokenId(piece.text)!] : this.#encodeLiteral(piece.text)
    );
  }

  /** The ids of a text whose special tokens are all text. */
  #encodeLiteral(text: string): number[] {
    const ids = this.#checked(text, () => this.#pipeline.encode(text));
    if (!ids.some((id) => this.#specialIds.has(id))) return ids;
    // The unknown token stands for a character without a token, even if it has another role too.
    const isRead = (id: number) => this.#specialIds.has(id) && id !== this.#unknownId;
    this.#plainFinders ??= this.#pipeline.finders(
      this.#pipeline.added.filter(({ id }) => !this.#specialIds.has(id)),
    );
    const finders = this.#plainFinders;
    const encode = (part: string) =>
      this.#checked(text, () => this.#pipeline.encode(part, [], finders));
    const again = encode(text);
    if (!again.some(isRead)) return again;
    // The model itself makes special tokens of pieces of text, unless the text is cut up.
    return this.#specials.apart(text).flatMap(encode).filter((id) => !isRead(id));
  }

  /** The ids that belong before and after a text. */
  #surroundings(): { before: number[]; after: number[] } {
    return this.#around ??= this.#checked(null, () => this.#pipeline.surroundings());
  }

  /**
   * Runs an encoding, and names the text when something in it has no token.
   * @param text what is encoded, or null for the text that the error names
   */
  #checked<T>(text: string | null, encode: () => T): T {
    try {
      return encode();
    } catch (error) {
      if (!(error instanceof MissingToken)) throw error;
      const shown = JSON.stringify((text ?? error.message).slice(0, 60));
      throw new RgxError(
        `${this.#where}/tokenizer.json: the text ${shown} ` +
          `contains something that has no token, and the tokenizer has no unknown token`,
      );
    }
  }

  /** Ids beyond the vocabulary (those of a model's padding rows) have no text. */
  decode(ids: readonly number[], options: { skipSpecialTokens?: boolean } = {}): string {
    const skip = options.skipSpecialTokens ?? false;
    const tokens = ids.filter((id) => !(skip && this.#specialIds.has(id)))
      .map((id) => this.#pipeline.tokens[id]).filter((token) => token !== undefined);
    return tokens.length === 0 ? "" : this.#pipeline.decode(tokens);
  }

  tokenBytes(id: number): Uint8Array | null {
    const token = this.#pipeline.tokens[id];
    return token === undefined || this.#specialIds.has(id) ? null : this.#tokenBytes(token);
  }

  tokenId(token: string): number | null {
    return this.#pipeline.tokenId(token) ?? null;
  }

  get chatVariables(): ReadonlySet<string> | null {
    return this.#renderChat?.variables ?? null;
  }

  applyChatTemplate(
    messages: readonly ChatMessage[],
    variables: Readonly<Record<string, unknown>> = {},
    time?: LocalTime,
    ending?: ChatEnding,
  ): string | null {
    const clock = time === undefined
      ? {}
      : { strftime_now: (format: string) => formatTime(new Date(time), format) };
    const marked = messages.map((one) => this.#marked(one));
    const { tools = null, documents = null } = variables;
    const shown = { tools: this.#mark(tools), documents: this.#mark(documents) };
    return this.#renderChat?.render(marked, { ...variables, ...shown, ...clock }, ending) ?? null;
  }

  /** The message with its special tokens marked, in the content and in all other texts. */
  #marked({ role, content, ...others }: ChatMessage): ChatMessage {
    const marked = this.#mark(others) as Record<string, unknown>;
    return { ...marked, role, content: this.#specials.mark(content) };
  }

  /** The value with the special tokens of all its texts marked. */
  #mark(value: unknown): unknown {
    if (typeof value === "string") return this.#specials.mark(value);
    if (typeof value !== "object" || value === null) return value;
    return Array.isArray(value) ? value.map((one) => this.#mark(one)) : Object.fromEntries(
      Object.entries(value).map(([name, inner]) => [name, this.#mark(inner)]),
    );
  }

  files(): ReadonlyMap<string, string> {
    return this.#files;
  }

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

/** @param specials contents of special tokens; those that are not in the vocabulary do not count */
function createPipeline(
  json: Record<string, unknown>,
  where: string,
  specials: readonly string[],
): TokenizerPipeline {
  checkTokenizerJson(json, where);
  const file = `${where}/tokenizer.json`;
  try {
    return new TokenizerPipeline(withSpecials(json, specials));
  } catch (error) {
    if (error instanceof NotSupported) {
      throw new UsageError(`${file}: ${error.message} is not supported`, {
        advice: "Texts would be read or written otherwise than in the model's training.",
      });
    }
    const what = error instanceof Damaged ? "" : "not a usable tokenizer: ";
    throw new RgxError(`${file}: ${what}${messageOf(error)}`, {
      advice: DAMAGED_ADVICE,
      cause: error,
    });
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

// What must hold of a `tokenizer.json` before its components are made: tokens are texts, and ids
// are small integers.

/** More than any vocabulary has. Ids are the indices of arrays. */
const MAX_ID = 2 ** 24;

/** @throws RgxError that names the first thing that is wrong */
function checkTokenizerJson(json: Json, where: string): void {
  const bad = (message: string) =>
    new RgxError(`${where}/tokenizer.json: ${message}`, { advice: DAMAGED_ADVICE });
  const { model, added_tokens: added = [] } = json;
  if (!isRecord(model)) throw bad(`no "model" in it, expected a Hugging Face tokenizer`);
  const { vocab } = model;
  if (Array.isArray(vocab)) {
    vocab.forEach((piece, i) => {
      if (Array.isArray(piece) && typeof piece[0] === "string" && typeof piece[1] === "number") {
        return;
      }
      throw bad(`piece ${i} of its vocabulary is ${show(piece)}, expected [text, score]`);
    });
  } else if (isRecord(vocab)) {
    for (const [token, id] of Object.entries(vocab)) {
      if (!isId(id)) throw bad(`token ${show(token)} has the id ${show(id)}`);
    }
  }
  if (added === null) return;
  if (!Array.isArray(added)) throw bad(`added_tokens is ${show(added)}, expected a list`);
  added.forEach((token, i) => {
    if (isRecord(token) && typeof token["content"] === "string" && isId(token["id"])) return;
    throw bad(`added token ${i} is ${show(token)}, expected one with an id and a content`);
  });
}

function isId(value: unknown): boolean {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 && value < MAX_ID;
}

function show(value: unknown): string {
  return JSON.stringify(value)?.slice(0, 60) ?? "missing";
}

// Special tokens that stand in a user's text and have to stay text. A chat template mixes its
// special tokens with the contents of the messages. Here the tokens in the contents are marked
// before that, so that the tokenizer can tell the two kinds apart.

/** Put after the first character of a token. Unicode reserves this code point for internal use. */
const MARK = "\ufdd0";

interface TextPiece {
  text: string;
  special: boolean;
}

class SpecialTokens {
  /** Any of the tokens. Longer ones are tried first. */
  readonly #any: RegExp | null;
  readonly #anyOrMarked: RegExp | null;

  constructor(contents: Iterable<string>) {
    const sorted = [...new Set(contents)].filter((token) => token !== "")
      .sort((a, b) => b.length - a.length || (a < b ? -1 : 1));
    const either = (tokens: readonly string[]) => tokens.map(RegExp.escape).join("|");
    const none = sorted.length === 0;
    this.#any = none ? null : new RegExp(either(sorted), "gu");
    this.#anyOrMarked = none
      ? null
      : new RegExp(`(${either(sorted.map(marked))})|(${either(sorted)})`, "gu");
  }

  /** The text, with a mark in each of its special tokens. */
  mark(text: string): string {
    return this.#any === null ? text : text.replaceAll(this.#any, marked);
  }

  /** Whether the text holds a marked token, so that `pieces` is needed to read it. */
  hasMarks(text: string): boolean {
    if (this.#anyOrMarked === null || !text.includes(MARK)) return false;
    return [...text.matchAll(this.#anyOrMarked)].some((match) => match[1] !== undefined);
  }

  /** The text, cut at its special tokens. Marked ones become text without their marks. */
  pieces(text: string): TextPiece[] {
    const pieces: TextPiece[] = [];
    let plain = "", at = 0;
    const flush = () => {
      if (plain !== "") pieces.push({ text: plain, special: false });
      plain = "";
    };
    for (const match of this.#anyOrMarked === null ? [] : text.matchAll(this.#anyOrMarked)) {
      plain += text.slice(at, match.index);
      at = match.index + match[0].length;
      if (match[1] !== undefined) plain += match[1].replace(MARK, "");
      else {
        flush();
        pieces.push({ text: match[0], special: true });
      }
    }
    plain += text.slice(at);
    flush();
    return pieces;
  }

  /** The text, cut after the first character of each special token: no part holds a long one. */
  apart(text: string): string[] {
    return this.mark(text).split(MARK);
  }
}

function marked(token: string): string {
  const first = String.fromCodePoint(token.codePointAt(0)!);
  return first + MARK + token.slice(first.length);
}

// The bytes that a token adds to a text in which tokens stand before it.

/** The bytes of a token; null for a token that has none of its own. */
type TokenBytes = (token: string) => Uint8Array | null;

/** A token that stands before others, so that they are not at the beginning. */
const BEFORE = "a";

function tokenBytes(json: unknown): TokenBytes {
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
