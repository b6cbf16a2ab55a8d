/** Chooses the files of a repository that a pull fetches. If no file fits, the error says why. */
import { bytesText } from "../core/bytes.ts";
import { UsageError } from "../core/errors.ts";
import { didYouMean } from "../core/suggest.ts";
import type { ListedFile } from "./api.ts";
import { shown } from "./file_names.ts";
import { matcher } from "./file_patterns.ts";
import { pullCommand, type Repository, type RepositoryKind } from "./repository.ts";

const MAX_SHOWN = 12;

/** The user's selection; empty lists = the default. */
export interface Selection {
  /** Full names or patterns. */
  readonly files: readonly string[];
  /** Patterns of files that are wanted. */
  readonly include: readonly string[];
  /** Patterns of files that are not wanted. */
  readonly exclude: readonly string[];
}

export const EVERYTHING_NEEDED: Selection = { files: [], include: [], exclude: [] };

/** The selected files of `names`, in the same order. */
export function wantedFiles(
  names: readonly string[],
  kind: RepositoryKind,
  { files, include, exclude }: Selection,
): string[] {
  const asked = files.length + include.length > 0;
  const known = new Set(names);
  const included = [...include, ...files.filter((file) => !known.has(file))].map(matcher);
  const excluded = exclude.map(matcher);
  const listed = new Set([...files, ...asked ? [] : defaultFiles(names, kind)]);
  return names.filter((name) =>
    (listed.has(name) || included.some((matches) => matches(name))) &&
    !excluded.some((matches) => matches(name))
  );
}

/** @throws UsageError for a pattern without files, or a repository without the usual ones */
export function chooseFiles(
  files: readonly ListedFile[],
  repository: Repository,
  selection: Selection,
): ListedFile[] {
  const names = files.map(({ name }) => name), known = new Set(names);
  for (const pattern of [...selection.files, ...selection.include]) {
    if (known.has(pattern) || names.some(matcher(pattern))) continue;
    throw new UsageError(
      `${repository.name}: no file ${shown(pattern)}${didYouMean(pattern, names)}`,
      { advice: `The repository holds ${listText(files)}.` },
    );
  }
  const wanted = new Set(wantedFiles(names, repository.kind, selection));
  const chosen = files.filter(({ name }) => wanted.has(name));
  const { files: named, include, exclude } = selection;
  const isUsual = named.length + include.length + exclude.length === 0;
  const suffices = !isUsual ||
    chosen.some(({ name }) =>
      repository.kind === "dataset" ? name !== README : name.endsWith(".safetensors")
    );
  if (chosen.length > 0 && suffices) return chosen;
  if (names.length > 0 && exclude.length > 0) {
    throw new UsageError(`${repository.name}: --exclude leaves no file`);
  }
  throw nothingUsual(files, repository, chosen);
}

function nothingUsual(
  files: readonly ListedFile[],
  repository: Repository,
  chosen: readonly ListedFile[],
): UsageError {
  const command = pullCommand(repository), { name } = repository;
  if (repository.kind === "dataset") {
    return new UsageError(`${name}: the data set has no .parquet, .jsonl and .csv files`, {
      advice: files.length === 0
        ? "It is empty."
        : `It holds ${listText(files)}. The Hub itself makes parquet of many data sets: ` +
          `${command}@refs/convert/parquet. Other files: --include PATTERN.`,
    });
  }
  const gguf = files.filter((file) => file.name.endsWith(".gguf"));
  if (gguf.length > 0) {
    return new UsageError(`${name}: no .safetensors, but GGUF files: name the one to fetch`, {
      advice: `For example: ${command} ${gguf[0]!.name}. There are ${listText(gguf)}.`,
    });
  }
  const pickles = files.filter((file) => /\.bin$/.test(file.name) && !file.name.includes("/"));
  if (pickles.length > 0) {
    return new UsageError(`${name}: no .safetensors, only weights as pickles`, {
      advice: "They are fetched when they are named (rgx reads them without running what is in " +
        `them): ${command} ${[...chosen, ...pickles].map((file) => file.name).join(" ")}`,
    });
  }
  const data = files.some((file) => isDataFile(file.name));
  return new UsageError(`${name}: no .safetensors: there are no weights in it`, {
    advice: files.length === 0
      ? "It is empty."
      : `It holds ${listText(files)}. Files are fetched when they are named: ${command} FILE…` +
        (data ? " A data set is fetched with --dataset." : ""),
  });
}

function listText(files: readonly ListedFile[]): string {
  if (files.length === 0) return "no files";
  const texts = files.slice(0, MAX_SHOWN).map(({ name, size }) =>
    size === null ? name : `${name} (${bytesText(size)})`
  );
  const more = files.length - texts.length;
  return texts.join(", ") + (more > 0 ? ` and ${more} more` : "");
}

// The files of a repository that are fetched by default. Of a model these are the files that a run
// needs: configuration, tokenizer and safetensors. Of a data set these are the parquet files, the
// JSON Lines and the tables in plain text (CSV and TSV; both also packed: .gz, .zst), and the
// README, which may list the splits. Pickles (`.bin`, `.pt`) and code are never among them.

/** Files in the top folder of a model's repository that rgx reads. */
const MODEL_FILES = [
  "config.json",
  "generation_config.json",
  "adapter_config.json",
  "special_tokens_map.json",
  "added_tokens.json",
  "vocab.json",
  "merges.txt",
  "tokenizer*",
  "chat_template*",
  "*.safetensors",
  "*.safetensors.index.json",
];
/** A second copy of the weights in Mistral's layout, which its repositories also contain. */
const OTHER_LAYOUT = /^consolidated.*\.safetensors/;
const MODEL_WEIGHTS = /^(?:model|pytorch_model).*\.safetensors$/;
/** Its first lines may list the configurations and splits of a data set. */
export const README = "README.md";

const CODE_OR_PICKLE = /\.(?:py|bin|pt|pth|ckpt|pkl|h5|msgpack|onnx)$/;

const DATA_FILES = /\.(?:parquet|jsonl(?:\.(?:gz|zst))?)$/;

/** Tables in plain text, which are read if they are named, or alone. */
const TABLES = /\.[ct]sv(?:\.(?:gz|zst))?$/i;

/** Whether a file is a table in plain text. */
export function isTable(name: string): boolean {
  return TABLES.test(name);
}

/** Whether a file has a data format that the Hub's data sets have, and rgx reads. */
export function isDataFile(name: string): boolean {
  return DATA_FILES.test(name);
}

/** Whether a file can be read as rows, where a user or a README names it. */
export function isReadable(name: string): boolean {
  return isDataFile(name) || isTable(name) || /\.json(?:\.(?:gz|zst))?$/.test(name);
}

/** The files of `names` that are fetched when the user selects none, in the same order. */
function defaultFiles(names: readonly string[], kind: RepositoryKind): string[] {
  if (kind === "dataset") {
    return names.filter((name) => isDataFile(name) || isTable(name) || name === README);
  }
  const matchers = MODEL_FILES.map(matcher);
  const skipsOther = names.some((name) => MODEL_WEIGHTS.test(name));
  return names.filter((name) =>
    !name.includes("/") && !CODE_OR_PICKLE.test(name) && matchers.some((matches) =>
      matches(name)
    ) &&
    !(skipsOther && OTHER_LAYOUT.test(name))
  );
}
