/**
 * Reads byte-level BPE tokenizers in their older form, `vocab.json` and `merges.txt`, as the
 * `tokenizer.json` that they stand for. The class of the tokenizer, or else the type of the model,
 * tells how a text is cut into words.
 */
import { RgxError, UsageError } from "../../core/errors.ts";
import { parseJsonObject, readJsonObject } from "../../core/json_file.ts";
import type { AddedToken } from "./components/added_tokens.ts";
import { byteLevelBpe, splitMerges } from "./make_tokenizer_json.ts";
import { tokenText } from "./named_specials.ts";

export const VOCABULARY_FILES = ["vocab.json", "merges.txt"] as const;

/** The class of a tokenizer (without "Fast") or the type of a model → its rule of cutting text. */
const SPLITTING: Readonly<Record<string, string>> = {
  GPT2Tokenizer: "gpt-2",
  Qwen2Tokenizer: "qwen2",
  gpt2: "gpt-2",
  qwen2: "qwen2",
  qwen3: "qwen2",
};

/** The token for the beginning and the end of a text, where the files name none. */
const DEFAULT_SPECIAL = "<|endoftext|>";
const ROLES = ["bos_token", "eos_token", "unk_token", "pad_token"] as const;

/**
 * @param files the other files of the tokenizer, name → text
 * @returns `files` with a `tokenizer.json`, and with the special tokens that go without saying
 * @throws UsageError for an unknown kind, RgxError when a file is missing or damaged
 */
export async function tokenizerFromVocabulary(
  folder: string,
  files: ReadonlyMap<string, string>,
): Promise<Map<string, string>> {
  const read = async (name: string, other: string) => {
    try {
      return await Deno.readTextFile(`${folder}/${name}`);
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
      throw new RgxError(`${folder}: ${other} is there, ${name} is not: both make the tokenizer`, {
        advice: "Fetch the missing file, or the model's tokenizer.json.",
      });
    }
  };
  const [vocabName, mergesName] = VOCABULARY_FILES;
  const vocabText = await read(vocabName, mergesName),
    mergesText = await read(mergesName, vocabName);
  const json = (name: string) =>
    files.has(name) ? parseJsonObject(files.get(name)!, `${folder}/${name}`) : {};
  const config = { ...json("special_tokens_map.json"), ...json("tokenizer_config.json") };
  const model = await readJsonObject(`${folder}/config.json`);
  const splitting = splittingOf(folder, config["tokenizer_class"], model?.["model_type"]);
  if (config["add_prefix_space"] === true) {
    throw new UsageError(`${folder}: the tokenizer's add_prefix_space is not supported`, {
      advice: "Use the model's tokenizer.json.",
    });
  }
  const vocab = readVocabulary(vocabText, `${folder}/${vocabName}`);
  const complete: Record<string, unknown> = { ...config };
  if (vocab[DEFAULT_SPECIAL] !== undefined) {
    for (const role of ["bos_token", "eos_token"]) complete[role] ??= DEFAULT_SPECIAL;
  }
  const begin = vocab[tokenText(complete["bos_token"]) ?? ""];
  const tokenizer = byteLevelBpe(
    {
      vocab,
      merges: splitMerges(mergeLines(mergesText), `${folder}/${mergesName}`),
      added: addedTokens(vocab, complete, json("added_tokens.json")),
      before: config["add_bos_token"] === true && begin !== undefined ? [begin] : [],
      after: [],
      unknown: null,
    },
    splitting,
    folder,
  );
  return new Map([
    ...files,
    ["tokenizer.json", JSON.stringify(tokenizer)],
    ["tokenizer_config.json", JSON.stringify(complete, null, 2) + "\n"],
  ]);
}

function splittingOf(folder: string, tokenizerClass: unknown, modelType: unknown): string {
  const named = typeof tokenizerClass === "string"
    ? tokenizerClass.replace(/Fast$/, "")
    : modelType;
  const known = typeof named === "string" && Object.hasOwn(SPLITTING, named);
  if (known) return SPLITTING[named]!;
  throw new UsageError(
    `${folder}: vocab.json and merges.txt do not say how text is split, and it is not known for ` +
      `${JSON.stringify(named) ?? "a tokenizer without tokenizer_class"}`,
    { advice: "Use the model's tokenizer.json (transformers writes one: save_pretrained)." },
  );
}

function readVocabulary(text: string, where: string): Record<string, number> {
  const vocab: Record<string, number> = Object.create(null);
  for (const [token, id] of Object.entries(parseJsonObject(text, where))) {
    if (!Number.isSafeInteger(id) || (id as number) < 0 || (id as number) > 2 ** 24) {
      throw new RgxError(
        `${where}: ${JSON.stringify(token)} is ${JSON.stringify(id)}, expected an id`,
      );
    }
    vocab[token] = id as number;
  }
  return vocab;
}

/** The lines of `merges.txt`, without a first line that says the version. */
function mergeLines(text: string): string[] {
  const lines = text.split(/\r?\n/);
  if (lines[0]?.startsWith("#version")) lines.shift();
  return lines.filter((line) => line !== "");
}

function addedTokens(
  vocab: Readonly<Record<string, number>>,
  config: Readonly<Record<string, unknown>>,
  older: Readonly<Record<string, unknown>>,
): AddedToken[] {
  const added = new Map<string, AddedToken>();
  const put = (content: string | null, id: unknown, special: boolean) => {
    if (content === null || typeof id !== "number" || added.has(content)) return;
    added.set(content, { id, content, special });
  };
  const decoder = config["added_tokens_decoder"];
  for (const [id, token] of Object.entries(decoder ?? {})) {
    put(tokenText(token), Number(id), (token as { special?: unknown } | null)?.special === true);
  }
  const extra = config["additional_special_tokens"];
  const named = [
    ...ROLES.map((role) => tokenText(config[role])),
    ...Array.isArray(extra) ? extra.map(tokenText) : [],
  ];
  for (const content of named) {
    if (content !== null) put(content, vocab[content] ?? older[content], true);
  }
  for (const [content, id] of Object.entries(older)) put(content, id, false);
  return [...added.values()].sort((a, b) => a.id - b.id);
}
