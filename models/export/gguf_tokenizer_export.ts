/**
 * Turns a Hugging Face tokenizer into the metadata of a GGUF file: byte-level BPE with its merges,
 * or pieces with scores (SentencePiece BPE, and tokenizers of single characters). Before anything
 * is written, formats/gguf/gguf_tokenizer.ts reads the result back; a tokenizer that would then
 * give other ids is refused. Left out: unigram models, byte-level BPE whose splitting rule has no
 * name.
 */
import { RgxError, UsageError } from "../../core/errors.ts";
import { splittingName } from "../tokenizers/make_tokenizer_json.ts";
import { memorySource } from "../formats/byte_source.ts";
import { selectChatTemplate } from "../tokenizers/chat_template.ts";
import { GgufFile } from "../formats/gguf/gguf.ts";
import { ggufTokenizer, TOKEN_KIND } from "../formats/gguf/gguf_tokenizer.ts";
import type { GgufMetadata, GgufWritten } from "../formats/gguf/gguf_writer.ts";
import { parseJsonObject } from "../../core/json_file.ts";
import { namedSpecials, tokenText, withSpecials } from "../tokenizers/named_specials.ts";
import { tokenizerFromFiles } from "../tokenizers/tokenizer.ts";
import type { Tokenizer } from "../tokenizers/types.ts";

export interface TokenizerToWrite {
  tokenizer: Tokenizer;
  /** Rows of the embedding. Ids without a token get one that is never used. */
  vocabSize: number;
  bosId: number | null;
  padId: number | null;
  generationEosIds: readonly number[];
  /** The model's folder, for messages. */
  where: string;
}

/** @throws UsageError when a GGUF file cannot hold this tokenizer */
export function ggufTokenizerMetadata(model: TokenizerToWrite): GgufMetadata {
  const { tokenizer, where } = model;
  const read = (name: string) => {
    const text = tokenizer.files().get(name);
    return text === undefined ? {} : parseJsonObject(text, `${where}/${name}`);
  };
  const { all } = namedSpecials(read("tokenizer_config.json"), read("special_tokens_map.json"));
  const json = withSpecials(read("tokenizer.json"), all);
  const bpe = readBpe(json, where), { kind } = bpe;
  const { tokens, kinds } = tokenTable(json, bpe, model.vocabSize, where);
  const out = new Map<string, GgufWritten>();
  const set = (key: string, value: GgufWritten) => out.set(`tokenizer.ggml.${key}`, value);
  set("model", ["string", kind.model]);
  set("pre", ["string", kind.splitting]);
  set("tokens", ["string", tokens]);
  set("token_type", ["i32", kinds]);
  if (kind.model === "gpt2") {
    set("merges", ["string", bpe.merges.map(([left, right]) => `${left} ${right}`)]);
  } else {
    set("scores", ["f32", pieceScores(tokens, bpe.merges)]);
    set("add_space_prefix", ["bool", kind.prefix]);
  }
  const unknown = bpe.unknown === null ? -1 : tokens.indexOf(bpe.unknown);
  if (unknown >= 0) set("unknown_token_id", ["u32", unknown]);
  setSpecialIds(model, set);
  const template = chatTemplate(tokenizer, where);
  if (template !== null) out.set("tokenizer.chat_template", ["string", template]);
  checkWayBack(out, model);
  return out;
}

/** Whether a GGUF reader adds a space before " text" where the tokenizer itself adds none. */
export function putsSpaceTwice(tokenizer: Tokenizer, metadata: GgufMetadata): boolean {
  const ids = (text: string) => tokenizer.encode(text, { addSpecialTokens: false }).join();
  return metadata.get("tokenizer.ggml.add_space_prefix")?.[1] === true && ids("a") === ids(" a");
}

type Kind =
  | { model: "gpt2"; splitting: string }
  /** `prefix`: a space is added before a text. */
  | { model: "llama"; splitting: "default"; prefix: boolean };

interface Bpe {
  kind: Kind;
  vocab: Record<string, number>;
  merges: [left: string, right: string][];
  unknown: string | null;
}

type Json = Readonly<Record<string, unknown>>;

function refuse(where: string, what: string): UsageError {
  return new UsageError(`${where}: the tokenizer cannot be put into a GGUF file: ${what}`, {
    advice: "Export to hf; llama.cpp's converter may know the model.",
  });
}

function readBpe(json: Json, where: string): Bpe {
  const model = json["model"] as Json;
  if ((model["type"] ?? "BPE") !== "BPE") {
    throw refuse(where, `its model is ${JSON.stringify(model["type"])}, expected "BPE"`);
  }
  const merges = ((model["merges"] ?? []) as (string | [string, string])[]).map((
    merge,
  ): [string, string] => {
    if (typeof merge !== "string") return merge;
    const at = merge.indexOf(" ", 1);
    return [merge.slice(0, at), merge.slice(at + 1)];
  });
  const unknown = typeof model["unk_token"] === "string" ? model["unk_token"] : null;
  const vocab = model["vocab"] as Record<string, number>;
  const kind = kindOf(json, where);
  if (kind.model === "gpt2") return { kind, vocab, merges, unknown };
  // Such a tokenizer turns the spaces of a text into ▁, so spaces in pieces are written like that.
  const written = (piece: string) => piece.replaceAll(" ", "▁");
  return {
    kind,
    unknown,
    vocab: Object.fromEntries(Object.entries(vocab).map(([token, id]) => [written(token), id])),
    merges: merges.map(([left, right]) => [written(left), written(right)]),
  };
}

function kindOf(json: Json, where: string): Kind {
  const noSpaces = '{"type":"Split","pattern":{"String":" "},"behavior":"MergedWithPrevious",' +
    '"invert":false}';
  // Gemma 3 splits at spaces after all of them have become ▁.
  const text = JSON.stringify([json["normalizer"] ?? null, json["pre_tokenizer"] ?? null])
    .replace(noSpaces, "null");
  if (text.includes('"ByteLevel"')) {
    const splitting = splittingName(json);
    if (splitting === null) throw refuse(where, "the rule by which it splits text has no name");
    return { model: "gpt2", splitting };
  }
  const plain = { model: "llama", splitting: "default" } as const;
  const replace = '{"type":"Replace","pattern":{"String":" "},"content":"▁"}';
  const sequence = (steps: string) => `[{"type":"Sequence","normalizers":[${steps}]},null]`;
  const withoutPrefix = ["[null,null]", `[${replace},null]`, sequence(replace)];
  if (withoutPrefix.includes(text)) return { ...plain, prefix: false };
  if (text === sequence(`{"type":"Prepend","prepend":"▁"},${replace}`)) {
    return { ...plain, prefix: true };
  }
  const pre = json["pre_tokenizer"] as Json | null | undefined;
  const metaspace = pre?.["type"] === "Metaspace" && pre["replacement"] === "▁" &&
    pre["split"] === false && !json["normalizer"];
  if (metaspace) return { ...plain, prefix: pre["prepend_scheme"] !== "never" };
  throw refuse(where, "it is neither byte-level BPE nor SentencePiece as Llama has it");
}

function tokenTable(
  json: Json,
  { vocab, unknown, kind }: Bpe,
  vocabSize: number,
  where: string,
): { tokens: string[]; kinds: number[] } {
  const tokens: (string | undefined)[] = Array(vocabSize).fill(undefined);
  const kinds: number[] = Array(vocabSize).fill(TOKEN_KIND.unused);
  const put = (id: number, token: string, type: number) => {
    if (id >= vocabSize) throw refuse(where, `its token ${id} is beyond the model's ${vocabSize}`);
    tokens[id] = token;
    kinds[id] = type;
  };
  for (const [token, id] of Object.entries(vocab)) {
    const byte = kind.model === "llama" && /^<0x[0-9A-F]{2}>$/.test(token);
    put(id, token, byte ? TOKEN_KIND.byte : TOKEN_KIND.normal);
  }
  const added = (json["added_tokens"] ?? []) as {
    id: number;
    content: string;
    special?: boolean;
  }[];
  for (const { id, content, special } of added) {
    put(id, content, special === true ? TOKEN_KIND.control : TOKEN_KIND.userDefined);
  }
  const whole = tokens.map((token, id) => token ?? `[PAD${id}]`);
  const at = unknown === null ? -1 : whole.indexOf(unknown);
  if (at >= 0) kinds[at] = TOKEN_KIND.unknown;
  return { tokens: whole, kinds };
}

/** The earlier a piece is merged, the higher its score. Pieces that are never merged come last. */
function pieceScores(tokens: readonly string[], merges: Bpe["merges"]): number[] {
  const rank = new Map<string, number>();
  merges.forEach(([left, right], i) => {
    if (!rank.has(left + right)) rank.set(left + right, i);
  });
  return tokens.map((token) => -(rank.get(token) ?? merges.length));
}

function setSpecialIds(
  model: TokenizerToWrite,
  set: (key: string, value: GgufWritten) => void,
): void {
  const { tokenizer, where } = model;
  // Configurations may keep ids of the vocabulary that they were first made for.
  const known = (id: number | null) => id !== null && id < model.vocabSize ? id : null;
  const generationEosIds = model.generationEosIds.filter((id) => known(id) !== null);
  const eos = tokenizer.eosId ?? generationEosIds[0] ?? null;
  const bos = known(beginId(model));
  const ends = generationEosIds.filter((id) => id !== eos);
  if (ends.length > 2) throw refuse(where, `${ends.length + 1} ids end a text, it holds 3`);
  const ids = { bos, eos, padding: known(model.padId), eot: ends[0] ?? null, eom: ends[1] ?? null };
  for (const [key, id] of Object.entries(ids)) {
    if (id !== null) set(`${key}_token_id`, ["u32", id]);
  }
  const { before, after } = surrounding(tokenizer);
  const alone = (found: number[], wanted: number | null) =>
    found.length === 0 || found.length === 1 && found[0] === wanted;
  if (!alone(before, bos) || !alone(after, eos)) {
    throw refuse(where, "it puts other tokens around a text than begin and end");
  }
  set("add_bos_token", ["bool", before.length > 0]);
  set("add_eos_token", ["bool", after.length > 0]);
}

/** The tokenizer's begin token, or else the model's. */
function beginId({ tokenizer, bosId, where }: TokenizerToWrite): number | null {
  const text = tokenizer.files().get("tokenizer_config.json");
  const token = text === undefined
    ? undefined
    : parseJsonObject(text, `${where}/tokenizer_config.json`)["bos_token"];
  const content = tokenText(token);
  return content === null ? bosId : tokenizer.tokenId(content) ?? bosId;
}

/** The tokens that are added before and after a text. */
function surrounding(tokenizer: Tokenizer): { before: number[]; after: number[] } {
  const inner = tokenizer.encode("a", { addSpecialTokens: false });
  const whole = tokenizer.encode("a");
  const at = whole.findIndex((_, i) => inner.every((id, j) => whole[i + j] === id));
  return { before: whole.slice(0, Math.max(0, at)), after: whole.slice(at + inner.length) };
}

function chatTemplate(tokenizer: Tokenizer, where: string): string | null {
  const files = tokenizer.files(), name = "tokenizer_config.json";
  const config = files.get(name);
  return files.get("chat_template.jinja") ?? (config === undefined ? null : selectChatTemplate(
    parseJsonObject(config, `${where}/${name}`)["chat_template"],
    `${where}/${name}`,
  ));
}

const PROBE = "Reverse the letters: déjà vu!\n\n\tIt's 3.14159 or 2,718 —  isn't it? " +
  "日本語のテキスト, größer, Привет мир; f(x) = x**2 + 1;\r\n<answer>42</answer>   ";

/** Reads the metadata as a loader would, and compares the ids of sample texts. */
function checkWayBack(metadata: GgufMetadata, { tokenizer, where }: TokenizerToWrite): void {
  const values = new Map([...metadata].map(([key, [, value]]) => [key, value] as const));
  const file = new GgufFile(where, values, new Map(), memorySource(new Uint8Array()));
  let back: Tokenizer;
  try {
    back = tokenizerFromFiles(ggufTokenizer(file)!.files, where);
  } catch (error) {
    if (error instanceof RgxError) throw refuse(where, error.message);
    throw error;
  }
  // A few hundred tokens at equal distances, each with the two tokens after it.
  const step = Math.max(1, Math.floor(tokenizer.vocabSize / 512));
  const samples = [PROBE, ...PROBE.split(" ")];
  for (let id = 0; id < tokenizer.vocabSize; id += step) {
    samples.push(tokenizer.decode([id, id + 1, id + 2], { skipSpecialTokens: true }));
  }
  const unknown = values.get("tokenizer.ggml.unknown_token_id");
  const specials = specialTexts(metadata);
  const texts = samples.filter((text) => !specials.some((special) => text.includes(special)));
  for (const text of [...texts, ...specials.slice(0, 16)]) {
    for (const literal of [true, false]) {
      const wanted = tokenizer.encode(text, { literal }), found = back.encode(text, { literal });
      if (joined(found, unknown) === joined(wanted, unknown)) continue;
      throw refuse(
        where,
        `${JSON.stringify(text)} would become the ids ${found}, expected ${wanted}`,
      );
    }
  }
}

function specialTexts(metadata: GgufMetadata): string[] {
  const tokens = metadata.get("tokenizer.ggml.tokens")![1] as readonly string[];
  const kinds = metadata.get("tokenizer.ggml.token_type")![1] as readonly number[];
  return tokens.filter((_, id) =>
    kinds[id] === TOKEN_KIND.control || kinds[id] === TOKEN_KIND.userDefined
  );
}

/**
 * Ids as a text for comparison. Neighbouring characters without a token may give one unknown token
 * or several.
 */
function joined(ids: readonly number[], unknown: unknown): string {
  return ids.filter((id, i) => id !== unknown || ids[i - 1] !== id).join();
}
